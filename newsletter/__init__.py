"""A self-hosted email newsletter: from a topic's sources to a subscriber's inbox, nothing lost, nothing twice.

    sources | collect | curate | compose | render | deliver | receive
       |         |                  |        |         |         |
     feeds   entries per topic    a draft   HTML      SMTP    what comes
     APIs    (store)              to edit   and text  to each  back

Each verb is a room: it takes values and returns values, and knows no other room. `newsletter.app` alone joins them,
with the furniture (settings, workspace, draft files, tokens, calendar, store). The doors are `newsletter.cli` and
`newsletter.web`.
"""

__version__ = "0.1.0"
