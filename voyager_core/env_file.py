"""Files of settings: which can be read, and which of their lines."""

from pathlib import Path

from dotenv.parser import parse_stream

from voyager_core.errors import SettingsError


def check_file(file: Path, *, is_named: bool) -> None:
    """Returns when a file can hold settings; one that nobody named may be missing.

    Raises:
        SettingsError: it is a folder, missing, or a pipe.
    """
    problem = ""
    if file.is_dir():
        problem = "is a folder"
    elif not file.exists():
        problem = "does not exist" if is_named else ""
    # /dev/null is how one says that there is none.
    elif not (file.is_file() or file.is_char_device()):
        problem = "is no plain file; a pipe gives what it holds only once"
    if problem:
        msg = f"the settings file {file} {problem}"
        raise SettingsError(msg)


def check_lines(file: Path) -> None:
    """Refuses a file with a line that would be passed over, such as one with an open quote.

    Raises:
        SettingsError: naming the line, without what it says.
    """
    if not file.is_file():
        return
    with file.open(encoding="utf-8") as stream:
        wrong = [
            binding.original
            for binding in parse_stream(stream)
            if binding.error or "\0" in binding.original.string
        ]
    if wrong:
        text = wrong[0].string
        # What is read as one piece begins with the blank lines before it.
        line = wrong[0].line + text[: len(text) - len(text.lstrip())].count("\n")
        msg = f"line {line} of the settings file {file} is none of the form NAME=value"
        raise SettingsError(msg)
