// For registers shorter than AVX-512's a block of pixels is some pieces, each with as many sums as
// there are registers for: here 12 pixels of two vectors, which are two times six pixels of one, for
// each half of the columns. Work items are the same.

// RUN: gantry-opt %s --split-input-file --gantry-emit-convolutions | FileCheck %s

#image = affine_map<(n, x, o, k, c) -> (n, x + k, c)>
#filter = affine_map<(n, x, o, k, c) -> (0, k, c, o)>
#result = affine_map<(n, x, o, k, c) -> (n, x, o)>

// CHECK-LABEL: @block_long(
// CHECK: scf.forall ({{.*}}) in (1, 1)
// CHECK: :24 = scf.for
// CHECK-COUNT-24: vector.store
// CHECK-NOT: vector.store
module attributes {gantry.target = #gantry.target<"cpu", machines = ["x86-64-v4"]>} {
  func.func @block_long(%x: memref<1x14x8xf32>, %w: memref<1x3x8x32xf32>, %y: memref<1x12x32xf32>) {
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%y : memref<1x12x32xf32>)
    linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
        ins(%x, %w : memref<1x14x8xf32>, memref<1x3x8x32xf32>) outs(%y : memref<1x12x32xf32>) {
    ^bb0(%a: f32, %b: f32, %s: f32):
      %p = arith.mulf %a, %b : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    }
    return
  }
}

// -----

#image = affine_map<(n, x, o, k, c) -> (n, x + k, c)>
#filter = affine_map<(n, x, o, k, c) -> (0, k, c, o)>
#result = affine_map<(n, x, o, k, c) -> (n, x, o)>

// CHECK-LABEL: @block_short(
// CHECK: scf.forall ({{.*}}) in (1, 1)
// CHECK: scf.for {{.*}} to %c32 step %c16 {
// CHECK: :6 = scf.for
// CHECK-COUNT-6: vector.store
// CHECK: :6 = scf.for
// CHECK-COUNT-6: vector.store
// CHECK-NOT: vector.store
module attributes {gantry.target = #gantry.target<"cpu", machines = ["x86-64-v3", "x86-64-v4"]>} {
  func.func @block_short(%x: memref<1x14x8xf32>, %w: memref<1x3x8x32xf32>, %y: memref<1x12x32xf32>) {
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%y : memref<1x12x32xf32>)
    linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
        ins(%x, %w : memref<1x14x8xf32>, memref<1x3x8x32xf32>) outs(%y : memref<1x12x32xf32>) {
    ^bb0(%a: f32, %b: f32, %s: f32):
      %p = arith.mulf %a, %b : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    }
    return
  }
}
