from .array import Array

class Donated:
    array: Array

def donate(array: Array) -> Donated: ...
