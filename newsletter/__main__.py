"""`python -m newsletter`."""

from newsletter.cli import main

main()
