#!/usr/bin/python3
"""Draws a digit and the probabilities of a prediction in the terminal.

Usage: show.py IMAGE.npy PROBABILITIES.npy EXPECTED
Exit status 1 when the most probable digit is not EXPECTED (a name such as "seven", or a number).
"""

import sys

import numpy as np

NAMES = "zero one two three four five six seven eight nine".split()
SHADES = " ░▒▓█"


def drawing(image):
    """8x8 values 0 to 16 as 16 lines of 32 characters, a frame around them."""
    level = np.clip(image.reshape(8, 8) / 16 * (len(SHADES) - 1) + 0.5, 0, len(SHADES) - 1).astype(int)
    lines = ["".join(SHADES[value] * 4 for value in row) for row in level for _ in range(2)]
    return ["┌" + "─" * 32 + "┐", *("│" + line + "│" for line in lines), "└" + "─" * 32 + "┘"]


def chart(probabilities, predicted):
    """One bar a digit, 30 characters for certainty."""
    lines = []
    for digit, value in enumerate(probabilities):
        mark = "  <- prediction" if digit == predicted else ""
        lines.append(f"{digit} {'█' * round(30 * float(value)):30} {100 * value:5.1f} %{mark}")
    return lines


def main():
    image, probabilities = np.load(sys.argv[1]), np.load(sys.argv[2]).reshape(-1)
    expected = NAMES.index(sys.argv[3]) if sys.argv[3] in NAMES else int(sys.argv[3])
    predicted = int(probabilities.argmax())
    right = ["", "", "", *chart(probabilities, predicted)]
    left = drawing(image)
    for row, line in enumerate(left):
        print(f"  {line}   {right[row] if row < len(right) else ''}".rstrip())
    sound = probabilities.shape == (10,) and abs(probabilities.sum() - 1) < 1e-3
    print(f"\nprediction: {predicted} ({NAMES[predicted]}); the digit is {expected} ({NAMES[expected]})")
    return 0 if predicted == expected and sound else 1


if __name__ == "__main__":
    sys.exit(main())
