// Random numbers depend on the seed alone: one plan gives the same ones in every run, two seeds
// different ones.

// RUN: gantry compile %s -o %t.gantry
// RUN: gantry run %t.gantry --output output0=%t.a.npy --output output1=%t.b.npy --threads 1
// RUN: gantry run %t.gantry --output output0=%t.c.npy --output output1=%t.d.npy --threads 3
// RUN: cmp %t.a.npy %t.c.npy
// RUN: cmp %t.b.npy %t.d.npy
// RUN: not cmp %t.a.npy %t.b.npy

func.func @main() -> (tensor<1000xf32>, tensor<1000xf32>) {
  %0 = gantry.random_uniform {seed = 7 : i64, low = 0.0 : f64, high = 1.0 : f64} : () -> tensor<1000xf32>
  %1 = gantry.random_uniform {seed = 8 : i64, low = 0.0 : f64, high = 1.0 : f64} : () -> tensor<1000xf32>
  return %0, %1 : tensor<1000xf32>, tensor<1000xf32>
}
