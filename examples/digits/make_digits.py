"""Makes ``train.ctf`` and ``test.ctf`` beside this script: handwritten digits in CNTK's text format.

The data are the test part of the *Optical Recognition of Handwritten Digits* data set by E. Alpaydin and C. Kaynak
(1998), UCI Machine Learning Repository, https://doi.org/10.24432/C50P49, licensed CC BY 4.0, as scikit-learn carries
it: 1797 images of 8 x 8 pixels with values 0 to 16, and the digit that each one shows.

A row is one image, a sequence of one sample::

    |features v0 v1 ... v63 |labels k:1

Every fifth image goes to ``test.ctf`` (360 images), the others to ``train.ctf`` (1437), in their original order. The
output is committed; run this by hand, with scikit-learn installed, if it is ever to change.
"""

from pathlib import Path

from sklearn.datasets import load_digits


def row(pixels, digit):
    """One image as a row of text: its pixels dense, its digit one-hot and sparse."""
    return f"|features {' '.join(str(int(p)) for p in pixels)} |labels {digit}:1\n"


def main():
    images, digits = load_digits(return_X_y=True)
    rows = [row(pixels, digit) for pixels, digit in zip(images, digits, strict=True)]
    here = Path(__file__).parent
    (here / "test.ctf").write_text("".join(rows[::5]), newline="\n")
    (here / "train.ctf").write_text("".join(r for i, r in enumerate(rows) if i % 5), newline="\n")


if __name__ == "__main__":
    main()
