// The same bytes: from two compilations, from any number of threads, from run to run. Sums of numbers
// between 0 and 1 in another order would show.

// RUN: rm -rf %t && mkdir %t

// Same input, same plan.
// RUN: gantry compile %s -o %t/a.gantry
// RUN: gantry compile %s -o %t/b.gantry
// RUN: cmp %t/a.gantry %t/b.gantry

// Any number of threads, more than there are cores, too; and three runs of a session.
// RUN: gantry run %t/a.gantry --fill uniform:0:1 --threads 1 --output y=%t/y1.npy --output z=%t/z1.npy --repeat 3
// RUN: gantry run %t/a.gantry --fill uniform:0:1 --threads 2 --output y=%t/y2.npy --output z=%t/z2.npy --repeat 3
// RUN: gantry run %t/a.gantry --fill uniform:0:1 --threads 3 --output y=%t/y3.npy --output z=%t/z3.npy --repeat 3
// RUN: gantry run %t/a.gantry --fill uniform:0:1 --threads 4 --output y=%t/y4.npy --output z=%t/z4.npy --repeat 3
// RUN: cmp %t/y1.npy %t/y2.npy && cmp %t/y1.npy %t/y3.npy && cmp %t/y1.npy %t/y4.npy
// RUN: cmp %t/z1.npy %t/z2.npy && cmp %t/z1.npy %t/z3.npy && cmp %t/z1.npy %t/z4.npy

// There is more than one work item to hand out, or this test would show nothing.
// RUN: gantry plan-text %t/a.gantry | FileCheck %s
// CHECK: plan.launch @matmul{{.*}} items {{[0-9][0-9]+}} grain

// Without fusion the same numbers, to a few roundings of sums of 256 terms.
// RUN: gantry run %s --no-fuse --fill uniform:0:1 --expect y=%t/y1.npy --expect z=%t/z1.npy --rtol 1e-6 --atol 1e-6

func.func @g4_same_bytes(%x: tensor<300x256xf32> {gantry.name = "x"}, %w: tensor<256x512xf32> {gantry.name = "w"},
                         %b: tensor<512xf32> {gantry.name = "b"})
    -> (tensor<300x512xf32> {gantry.name = "y"}, tensor<300xf32> {gantry.name = "z"}) {
  %0 = gantry.matmul %x, %w : (tensor<300x256xf32>, tensor<256x512xf32>) -> tensor<300x512xf32>
  %1 = gantry.add %0, %b : (tensor<300x512xf32>, tensor<512xf32>) -> tensor<300x512xf32>
  %2 = gantry.tanh %1 : (tensor<300x512xf32>) -> tensor<300x512xf32>
  %3 = gantry.softmax %2 {axis = 1 : i64} : (tensor<300x512xf32>) -> tensor<300x512xf32>
  %4 = gantry.exp %3 : (tensor<300x512xf32>) -> tensor<300x512xf32>
  %5 = gantry.reduce_sum %4 {axes = array<i64: 1>} : (tensor<300x512xf32>) -> tensor<300xf32>
  return %3, %5 : tensor<300x512xf32>, tensor<300xf32>
}
