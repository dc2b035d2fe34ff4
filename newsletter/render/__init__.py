"""Issue + templates -> Edition: the issue as one set of topics reads it, as HTML and as text. Pure.

    seats       which entries this set of topics sees, and under which topic
    views       every value ready to be printed: dates, counts, Markdown as HTML and as text
    language    the words of the templates in the language of the newsletter, and the side it is read from
    templates   issue.mjml, issue.txt and the service mails, in
    sandbox     Jinja's sandbox, with limits
    mjml        MJML -> HTML that mail clients read
    text        lines of 72
    check       what is wrong with an edition, before anybody gets it

What is personal stands in an edition as marks (`types.mark`); `deliver` fills them in.
"""

from __future__ import annotations

from newsletter import types
from newsletter.render import mjml, views
from newsletter.render import text as plain_text
from newsletter.render.language import direction
from newsletter.render.seats import select
from newsletter.render.templates import Templates

__all__ = ["Templates", "direction", "edition", "mail", "select"]


def edition(issue: types.Issue, topics: tuple[str, ...], templates: Templates) -> types.Edition:
    """Render the issue for one set of topics; raises `errors.TemplateError` with the template's name and line."""
    seen = select(issue, topics)
    parsed, newsletter = views.parse(seen), views.newsletter(seen, seen.base_url)
    say = templates.words(seen.language).gettext
    page = views.as_html(parsed, [say(words) for words in views.SPOKEN_FOR])
    mjml_text = templates.render("issue.mjml", seen.language, issue=page, newsletter=newsletter)
    text = templates.render("issue.txt", seen.language, issue=views.as_text(parsed), newsletter=newsletter)
    return types.Edition(
        topics=topics,
        subject=seen.subject,
        html=mjml.to_html(mjml_text, "issue.mjml"),
        text=plain_text.tidy(text, newsletter.direction),
    )


def mail(templates: Templates, name: str, newsletter: views.Newsletter, about: views.Mail) -> types.Edition:
    """A service mail (`mail/confirm` or another of mail/) as an edition without topics.

    Its subject is the block `subject` of its text template. Raises as `edition` does.
    """
    tag = newsletter.language
    values = {"newsletter": newsletter, "mail": about}
    html = mjml.to_html(templates.render(f"{name}.mjml", tag, **values), f"{name}.mjml")
    text = plain_text.tidy(templates.render(f"{name}.txt", tag, **values), newsletter.direction)
    subject = " ".join(templates.render_block(f"{name}.txt", "subject", tag, **values).split())
    return types.Edition(topics=(), subject=subject, html=html, text=text)
