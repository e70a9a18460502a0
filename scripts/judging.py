"""What the judge scripts written in Python share."""

import os
import subprocess
import sys


def need(*programs):
    """Ends the script with exit code 2 and one line that says what to install, if these (PROGRAM=PACKAGE) are missing."""
    folder = os.path.dirname(os.path.abspath(__file__))
    checked = subprocess.run([os.path.join(folder, "need"), sys.argv[0], *programs])
    if checked.returncode:
        sys.exit(checked.returncode)


def count(at, default, least=1):
    """The number that is argument `at` of the script; ends the script with exit code 2 if it is no number from `least` on."""
    text = sys.argv[at] if len(sys.argv) > at else str(default)
    if not text.isdecimal() or int(text) < least:
        wrong_usage(f"{text!r} is no number from {least} on")
    return int(text)


def wrong_usage(why):
    """Ends the script with exit code 2 and this reason."""
    print(f"{os.path.basename(sys.argv[0])}: {why}", file=sys.stderr)
    sys.exit(2)
