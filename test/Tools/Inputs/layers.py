"""Usage: layers.py COUNT: prints a graph of so many layers, each a product, a sum and a tanh."""

import sys

count, tensor = int(sys.argv[1]), "tensor<8x8xf32>"
print(f"func.func @main(%v0: {tensor}) -> {tensor} {{")
for i in range(count):
    name = lambda op: f'{{gantry.name = "/layer.{i}/{op}"}}'
    print(f"  %w{i} = gantry.constant dense<{1 / (8 + i)}> : {tensor}")
    print(f"  %a{i} = gantry.matmul %v{i}, %w{i} {name('matmul')} : ({tensor}, {tensor}) -> {tensor}")
    print(f"  %b{i} = gantry.add %a{i}, %v{i} {name('add')} : ({tensor}, {tensor}) -> {tensor}")
    print(f"  %v{i + 1} = gantry.tanh %b{i} {name('tanh')} : ({tensor}) -> {tensor}")
print(f"  return %v{count} : {tensor}\n}}")
