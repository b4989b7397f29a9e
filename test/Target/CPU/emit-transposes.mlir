// Moves between orders of dimensions: 16 x 16 elements are turned by shuffles, rows of few elements
// are merged or parted; what neither fits stays loops over elements.

// RUN: gantry-opt %s --gantry-kernel-pipeline | FileCheck %s

// Four rounds of sixteen shuffles between sixteen loads and stores. The last blocks overlap.
// CHECK-LABEL: func.func private @turn(
// CHECK: arith.minui
// CHECK-COUNT-16: vector.load {{.*}} vector<16xf32>
// CHECK-NOT: vector.load
// CHECK: vector.shuffle {{.*}} [0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29]
// CHECK: vector.shuffle {{.*}} [2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31]
// CHECK-COUNT-30: vector.shuffle
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27]
// CHECK: vector.shuffle {{.*}} [4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31]
// CHECK-COUNT-14: vector.shuffle
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
// CHECK-COUNT-15: vector.shuffle
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-16: vector.store
// CHECK-NOT: vector.store
// CHECK: return
gantry.kernel @turn {
^bb0(%x: tensor<37x50xf32>):
  %0 = gantry.transpose %x {permutation = array<i64: 1, 0>} : (tensor<37x50xf32>) -> tensor<50x37xf32>
  gantry.yield %0 : tensor<50x37xf32>
}

// Three rows, red, green and blue, become sixteen pixels.
// CHECK-LABEL: func.func private @merge(
// CHECK-COUNT-3: vector.load
// CHECK-COUNT-6: vector.shuffle
// CHECK-COUNT-3: vector.store
// CHECK-NOT: vector.store
// CHECK: return
gantry.kernel @merge {
^bb0(%x: tensor<1x3x32x40xi32>):
  %0 = gantry.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x3x32x40xi32>) -> tensor<1x32x40x3xi32>
  gantry.yield %0 : tensor<1x32x40x3xi32>
}

// CHECK-LABEL: func.func private @part(
// CHECK-COUNT-2: vector.load
// CHECK-COUNT-2: vector.shuffle
// CHECK-COUNT-2: vector.store
// CHECK-NOT: vector.store
// CHECK: return
gantry.kernel @part {
^bb0(%x: tensor<640x2xf32>):
  %0 = gantry.transpose %x {permutation = array<i64: 1, 0>} : (tensor<640x2xf32>) -> tensor<2x640xf32>
  gantry.yield %0 : tensor<2x640xf32>
}

// Of many elements a work item has enough along the source, too.
// CHECK-LABEL: func.func private @item(
// CHECK: memref.subview {{.*}} [1, {{[0-9]+}}, 112, 32]
// CHECK: vector.shuffle
// CHECK: return
gantry.kernel @item {
^bb0(%x: tensor<1x112x112x64xf32>):
  %0 = gantry.transpose %x {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x112x112x64xf32>) -> tensor<1x64x112x112xf32>
  gantry.yield %0 : tensor<1x64x112x112xf32>
}

// Nine are neither few nor a block, rows that stay together are copied, and other widths are not for
// these registers.
// CHECK-LABEL: func.func private @others(
// CHECK-NOT: vector.shuffle
gantry.kernel @others {
^bb0(%x: tensor<9x64xf32>):
  %0 = gantry.transpose %x {permutation = array<i64: 1, 0>} : (tensor<9x64xf32>) -> tensor<64x9xf32>
  gantry.yield %0 : tensor<64x9xf32>
}
gantry.kernel @together {
^bb0(%x: tensor<20x30x40xf32>):
  %0 = gantry.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<20x30x40xf32>) -> tensor<30x20x40xf32>
  gantry.yield %0 : tensor<30x20x40xf32>
}
gantry.kernel @wide {
^bb0(%x: tensor<64x64xf64>):
  %0 = gantry.transpose %x {permutation = array<i64: 1, 0>} : (tensor<64x64xf64>) -> tensor<64x64xf64>
  gantry.yield %0 : tensor<64x64xf64>
}
