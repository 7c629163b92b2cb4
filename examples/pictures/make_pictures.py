"""Makes the images beside this script: circles, squares and triangles, drawn with Pillow.

    train/, train_map.txt   60 pictures of about 40 x 40 pixels, most of them JPEG, some PNG, each with its shape's number
    test.zip, test_map.txt  30 more, in an archive
    small.b64               12 of 24 x 24 pixels, in Base64
    mean.xml                the mean of the training pictures at 32 x 32 pixels, as OpenCV stores matrices
    scenes/, scenes_map.txt 12 pictures of different sizes with up to three shapes each,
    regions.ctf             where each of these lies: x, y, width and height in shares of the picture padded to a square,
    region_labels.ctf       and which shape it is

Shapes are dark and backgrounds light, both of any colour and with noise. The pictures are part of this project, under its
licence. The output is committed; run this by hand, with Pillow installed, if it is ever to change.
"""

import base64
import io
import shutil
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

HERE = Path(__file__).parent
SHAPES = ("circle", "square", "triangle")
#: The factor by which shapes are drawn larger, to be reduced for smooth edges.
FINE = 4


def draw_shape(draw, shape, box, color):
    """Draws a shape into a box (left, top, side), in fine pixels."""
    left, top, side = box
    right, bottom = left + side, top + side
    if shape == "circle":
        draw.ellipse([left, top, right, bottom], fill=color)
    elif shape == "square":
        draw.rectangle([left, top, right, bottom], fill=color)
    else:
        draw.polygon([(left + side / 2, top), (right, bottom), (left, bottom)], fill=color)


def picture(rng, size, shapes):
    """An image of (width, height) with shapes in boxes (left, top, side)."""
    light, dark = ([tuple(map(int, rng.integers(low, low + 80, 3))) for _ in range(3)] for low in (170, 10))
    fine = Image.new("RGB", (size[0] * FINE, size[1] * FINE), light[0])
    for (shape, box), color in zip(shapes, dark):
        draw_shape(ImageDraw.Draw(fine), shape, [number * FINE for number in box], color)
    pixels = np.asarray(fine.resize(size, Image.Resampling.BOX), np.float64)
    noisy = pixels + rng.normal(0, 6, pixels.shape)
    return Image.fromarray(noisy.clip(0, 255).round().astype(np.uint8))


def one_shape(rng, number, side=None):
    """An image of one shape near its middle; all shapes in turn."""
    width, height = (side, side) if side else map(int, rng.integers(36, 45, 2))
    size = int(min(width, height) * rng.uniform(0.55, 0.75))
    left, top = ((length - size) // 2 + int(rng.integers(-2, 3)) for length in (width, height))
    return picture(rng, (width, height), [(SHAPES[number % 3], (left, top, size))])


def encoded(image, kind):
    """The file of an image."""
    file = io.BytesIO()
    image.save(file, kind, quality=88)
    return file.getvalue()


def write_text(name, lines):
    (HERE / name).write_text("".join(f"{line}\n" for line in lines), newline="\n")


def folder(name):
    """An empty folder."""
    shutil.rmtree(HERE / name, ignore_errors=True)
    (HERE / name).mkdir()
    return HERE / name


def make_training_pictures(rng):
    train = folder("train")
    images = [one_shape(rng, number) for number in range(60)]
    names = [f"{number:02}.{'png' if number % 10 == 9 else 'jpg'}" for number in range(60)]
    for name, image in zip(names, images):
        (train / name).write_bytes(encoded(image, "PNG" if name.endswith("png") else "JPEG"))
    write_text("train_map.txt", (f".../train/{name}\t{number % 3}" for number, name in enumerate(names)))
    sizes = [image.resize((32, 32), Image.Resampling.BILINEAR) for image in images]
    mean = np.mean([np.asarray(image, np.float64)[:, :, ::-1] for image in sizes], axis=0)
    data = "\n".join(" ".join(f"{value:.1f}" for value in row.ravel()) for row in mean)
    (HERE / "mean.xml").write_text(
        '<?xml version="1.0"?>\n<opencv_storage>\n<Channel>3</Channel> <Row>32</Row> <Col>32</Col>\n'
        f'<MeanImg type_id="opencv-matrix">\n<rows>1</rows> <cols>{mean.size}</cols> <dt>f</dt>\n<data>\n{data}\n'
        "</data></MeanImg>\n</opencv_storage>\n",
        newline="\n",
    )


def make_test_pictures(rng):
    with zipfile.ZipFile(HERE / "test.zip", "w") as archive:
        for number in range(30):
            member = zipfile.ZipInfo(f"{number:02}.jpg")
            archive.writestr(member, encoded(one_shape(rng, number), "JPEG"))
    write_text("test_map.txt", (f".../test.zip@/{number:02}.jpg\t{number % 3}" for number in range(30)))


def make_small_pictures(rng):
    files = [encoded(one_shape(rng, number, side=24), "JPEG") for number in range(12)]
    write_text("small.b64", (f"{i % 3}\t{base64.b64encode(file).decode()}" for i, file in enumerate(files)))


def make_scenes(rng):
    scenes = folder("scenes")
    map_lines, regions, labels = [], [], []
    for number in range(12):
        width, height = ((72, 48), (48, 72), (60, 60))[number % 3]
        shapes = []
        # A place for each: the cells of a grid.
        cells = [(x, y) for x in range(width // 24) for y in range(height // 24)]
        for cell in rng.choice(len(cells), 1 + number % 3, replace=False):
            side = int(rng.integers(14, 21))
            left, top = (24 * place + int(rng.integers(1, 24 - side)) for place in cells[cell])
            shapes.append((str(rng.choice(SHAPES)), (left, top, side)))
        (scenes / f"{number:02}.jpg").write_bytes(encoded(picture(rng, (width, height), shapes), "JPEG"))
        key = 100 + number
        map_lines.append(f"{key}\t.../scenes/{number:02}.jpg\t{len(shapes)}")
        square = max(width, height)
        for shape, (left, top, side) in shapes:
            x, y = left + (square - width) / 2, top + (square - height) / 2
            regions.append(f"{key} |r {' '.join(f'{n / square:.4f}' for n in (x, y, side, side))}")
            labels.append(f"{key} |c {SHAPES.index(shape)}:1")
    write_text("scenes_map.txt", map_lines)
    write_text("regions.ctf", regions)
    write_text("region_labels.ctf", labels)


def main():
    rng = np.random.default_rng(1)
    make_training_pictures(rng)
    make_test_pictures(rng)
    make_small_pictures(rng)
    make_scenes(rng)


if __name__ == "__main__":
    main()
