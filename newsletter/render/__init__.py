"""Issue + templates -> Edition: the issue as one set of topics reads it, as HTML and as text. Pure.

    seats       which entries this set of topics sees, and under which topic
    views       every value ready to be printed: dates, counts, Markdown as HTML and as text
    templates   issue.mjml and issue.txt, in Jinja's sandbox
    mjml        MJML -> HTML that mail clients read
    text        lines of 72
    check       what is wrong with an edition, before anybody gets it

What is personal stands in an edition as marks (`types.mark`); `deliver` fills them in.
"""

from __future__ import annotations

from newsletter import types
from newsletter.render import mjml, views
from newsletter.render import text as plain_text
from newsletter.render.seats import select
from newsletter.render.templates import Templates

__all__ = ["Templates", "edition", "mail", "select"]


def edition(issue: types.Issue, topics: tuple[str, ...], templates: Templates) -> types.Edition:
    """Render the issue for one set of topics; raises `errors.TemplateError` with the template's name and line."""
    parsed = views.parse(select(issue, topics))
    html = mjml.to_html(templates.render("issue.mjml", issue=views.as_html(parsed)), "issue.mjml")
    text = plain_text.tidy(templates.render("issue.txt", issue=views.as_text(parsed)))
    return types.Edition(topics=topics, subject=issue.subject, html=html, text=text)


def mail(templates: Templates, name: str, **values: object) -> tuple[str, str]:
    """(HTML, text) of a service mail: `mail(templates, "mail/confirm", url=…)` renders its `.mjml` and its `.txt`."""
    html = mjml.to_html(templates.render(f"{name}.mjml", **values), f"{name}.mjml")
    return html, plain_text.tidy(templates.render(f"{name}.txt", **values))
