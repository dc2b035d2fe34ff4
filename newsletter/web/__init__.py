"""The doors that a browser comes in by. FastAPI is imported when a page is made, not before."""
