// A key that is an operand: each run draws what its key says, and a key gives what the seed of that number gives, on the
// host, on any number of threads, on simulated and on emulated GPUs. Streams tell draws of one key apart.

// RUN: gantry compile %s -o %t.gantry
// RUN: gantry run %t.gantry --fill key=randint:7:8 --output drawn=%t.a.npy --output seeded=%t.b.npy --output other=%t.c.npy --threads 1
// RUN: cmp %t.a.npy %t.b.npy
// RUN: not cmp %t.a.npy %t.c.npy
// RUN: gantry run %t.gantry --fill key=randint:7:8 --output drawn=%t.d.npy --output other=%t.e.npy --threads 3
// RUN: cmp %t.a.npy %t.d.npy
// RUN: cmp %t.c.npy %t.e.npy
// RUN: gantry run %t.gantry --fill key=randint:8:9 --output drawn=%t.f.npy
// RUN: not cmp %t.a.npy %t.f.npy

// Copies of the key are copies like others; they are allowed where a graph's ends are.
// RUN: gantry run %s --devices=GPU:0 --simulate --copies=explicit --fill key=randint:7:8 --output drawn=%t.g.npy --log-device-placement 2>&1 | FileCheck %s
// RUN: cmp %t.a.npy %t.g.npy
// RUN: gantry run %s --devices=GPU:0 --emulate --fill key=randint:7:8 --output drawn=%t.h.npy --output other=%t.i.npy
// RUN: cmp %t.a.npy %t.h.npy
// RUN: cmp %t.c.npy %t.i.npy

// CHECK: Copying 8 bytes from {{.*}}CPU:0 to {{.*}}GPU:0
// CHECK: Executing op RandomUniform in device {{.*}}GPU:0
func.func @main(%key: tensor<i64> {gantry.name = "key"}) -> (tensor<1000xf32> {gantry.name = "drawn"},
    tensor<1000xf32> {gantry.name = "seeded"}, tensor<1000xf32> {gantry.name = "other"}) {
  %0 = gantry.random_uniform %key {low = 0.0 : f64, high = 1.0 : f64} : (tensor<i64>) -> tensor<1000xf32>
  %1 = gantry.random_uniform {seed = 7 : i64, low = 0.0 : f64, high = 1.0 : f64} : () -> tensor<1000xf32>
  %2 = gantry.random_uniform %key {stream = 1 : i64, low = 0.0 : f64, high = 1.0 : f64} : (tensor<i64>) -> tensor<1000xf32>
  return %0, %1, %2 : tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf32>
}
