"""What the judge scripts written in Python share."""

import math
import os
import statistics
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


# 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom (Abramowitz and Stegun 1964, table 26.10).
T = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
]


def ratio(pairs):
    """The geometric mean of the ratios second/first of at least two pairs, and its 95 % interval: (mean, low, high)."""
    logs = [math.log(second / first) for first, second in pairs]
    mean = statistics.fmean(logs)
    half = T[min(len(logs) - 2, len(T) - 1)] * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)
