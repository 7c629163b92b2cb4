"""Prices of houses from a CSV file: columns in their types, one epoch of batches, shuffled.

Prints:

<Dataset houses.csv: rooms int64 [], metres int64 [], price int64 []>
{'rooms': [2, 2, 4, 6], 'metres': [55, 48, 88, 150], 'price': [160, 150, 265, 480]}
{'rooms': [3, 4, 1, 3], 'metres': [70, 95, 30, 72], 'price': [210, 280, 110, 225]}
{'rooms': [5, 3], 'metres': [120, 66], 'price': [390, 200]}
"""

from pathlib import Path

import tesson

HOUSES = Path(__file__).parents[1] / "user" / "houses.csv"

data = tesson.read_csv(HOUSES)
print(repr(data).replace(f"{HOUSES.parent}/", ""))
loader = data.loader(batch_size=4, shuffle=True, seed=1)
for batch in loader:
    print({name: values.tolist() for name, values in batch.as_dict().items()})
