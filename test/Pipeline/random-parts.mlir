// What is drawn in parts is what is drawn as a whole, bit for bit: rows of an outer dimension, of an inner one, from a
// key and from a seed, on the host and on emulated GPUs.

// RUN: gantry compile %s -o %t.gantry
// RUN: gantry run %t.gantry --fill key=randint:7:8 --output a=%t.a.npy --output b=%t.b.npy --output c=%t.c.npy --output d=%t.d.npy
// RUN: cmp %t.a.npy %t.b.npy
// RUN: cmp %t.c.npy %t.d.npy
// RUN: not cmp %t.a.npy %t.c.npy
// RUN: gantry run %s --devices=GPU:0 --emulate --fill key=randint:7:8 --output b=%t.e.npy --output d=%t.f.npy
// RUN: cmp %t.a.npy %t.e.npy
// RUN: cmp %t.c.npy %t.f.npy

func.func @main(%key: tensor<i64> {gantry.name = "key"})
    -> (tensor<7x33xf32> {gantry.name = "a"}, tensor<7x33xf32> {gantry.name = "b"},
        tensor<7x33xf32> {gantry.name = "c"}, tensor<7x33xf32> {gantry.name = "d"}) {
  %a = gantry.random_uniform %key {stream = 3 : i64, low = 0.0 : f64, high = 1.0 : f64} : (tensor<i64>) -> tensor<7x33xf32>
  %0 = gantry.random_uniform %key {stream = 3 : i64, whole = array<i64: 7, 33>, begin = array<i64: 0, 0>, low = 0.0 : f64, high = 1.0 : f64} : (tensor<i64>) -> tensor<4x33xf32>
  %1 = gantry.random_uniform %key {stream = 3 : i64, whole = array<i64: 7, 33>, begin = array<i64: 4, 0>, low = 0.0 : f64, high = 1.0 : f64} : (tensor<i64>) -> tensor<3x33xf32>
  %b = gantry.concat %0, %1 {axis = 0 : i64} : (tensor<4x33xf32>, tensor<3x33xf32>) -> tensor<7x33xf32>
  %c = gantry.random_normal {seed = 5 : i64, mean = 0.0 : f64, deviation = 1.0 : f64} : () -> tensor<7x33xf32>
  %2 = gantry.random_normal {seed = 5 : i64, whole = array<i64: 7, 33>, begin = array<i64: 0, 0>, mean = 0.0 : f64, deviation = 1.0 : f64} : () -> tensor<7x20xf32>
  %3 = gantry.random_normal {seed = 5 : i64, whole = array<i64: 7, 33>, begin = array<i64: 0, 20>, mean = 0.0 : f64, deviation = 1.0 : f64} : () -> tensor<7x13xf32>
  %d = gantry.concat %2, %3 {axis = 1 : i64} : (tensor<7x20xf32>, tensor<7x13xf32>) -> tensor<7x33xf32>
  return %a, %b, %c, %d : tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>
}
