"""The HTTP edge; with `main`, the only code that knows FastAPI."""
