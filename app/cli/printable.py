"""What others wrote, made fit for a terminal: it is shown there, and must not be obeyed."""


def is_text(argument: str) -> bool:
    """Whether it is UTF-8; Python takes in any other bytes as halves of surrogate pairs."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def printable(text: str) -> str:
    """On one line, with U+FFFD for whatever cannot be printed, such as escape sequences begin with."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)
