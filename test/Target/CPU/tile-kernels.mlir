// Tile sizes follow the shapes and the options alone; they divide the dimensions, so that every shape
// inside a work item is static.

// RUN: gantry-opt %s --gantry-tile-kernels="item-work=1024 contraction-work=65536" --canonicalize --cse | FileCheck %s
// RUN: gantry-opt %s --gantry-tile-kernels="item-work=256 contraction-work=65536" --canonicalize --cse | FileCheck %s --check-prefix=SMALL

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Inner dimensions stay whole as long as an item's work is below what is wanted.
// CHECK-LABEL: @elementwise(
// CHECK: scf.forall (%{{.*}}) = (0) to (64) step (4)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<4x256xf32>)
// CHECK: tensor.parallel_insert_slice %{{.*}} : tensor<4x256xf32> into tensor<64x256xf32>
// SMALL-LABEL: @elementwise(
// SMALL: scf.forall (%{{.*}}) in (64)
func.func private @elementwise(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %e = tensor.empty() : tensor<64x256xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x256xf32>) outs(%e : tensor<64x256xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = math.exp %a : f32
    linalg.yield %1 : f32
  } -> tensor<64x256xf32>
  return %0 : tensor<64x256xf32>
}

// A row whose sum is used by all its elements stays whole: cut, it would be summed once per tile.
// The producer moves into the loop.
// CHECK-LABEL: @reused_row(
// CHECK-NOT: linalg.generic
// CHECK: scf.forall (%{{.*}}) in (8)
// CHECK: linalg.generic {{.*}}"reduction"]} ins(%{{.*}} : tensor<1x4096xf32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x4096xf32>, tensor<1xf32>)
// CHECK: scf.forall.in_parallel
func.func private @reused_row(%x: tensor<8x4096xf32>) -> tensor<8x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x4096xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %e = tensor.empty() : tensor<8x4096xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<8x4096xf32>, tensor<8xf32>) outs(%e : tensor<8x4096xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.divf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<8x4096xf32>
  return %0 : tensor<8x4096xf32>
}

// The reduced dimension of a contraction is never cut: the order of its sums does not depend on the
// items. Accumulators start inside the item.
// CHECK-LABEL: @contraction(
// CHECK: scf.forall
// CHECK: linalg.fill
// CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<{{[0-9]+}}x64xf32>, tensor<64x{{[0-9]+}}xf32>)
func.func private @contraction(%x: tensor<64x64xf32>, %w: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x128xf32>) -> tensor<64x128xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<64x64xf32>, tensor<64x128xf32>) outs(%f : tensor<64x128xf32>) -> tensor<64x128xf32>
  return %0 : tensor<64x128xf32>
}

// Sizes without useful divisors still give static shapes.
// CHECK-LABEL: @prime(
// CHECK-NOT: tensor<?
// CHECK: return
func.func private @prime(%x: tensor<1009xf32>) -> tensor<1009xf32> {
  %e = tensor.empty() : tensor<1009xf32>
  %0 = linalg.exp ins(%x : tensor<1009xf32>) outs(%e : tensor<1009xf32>) -> tensor<1009xf32>
  return %0 : tensor<1009xf32>
}

// Results of different ops have no common loop: one item.
// CHECK-LABEL: @two_roots(
// CHECK-NOT: scf.forall
// CHECK: return
func.func private @two_roots(%x: tensor<8xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %a = tensor.empty() : tensor<8xf32>
  %b = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%a : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.exp ins(%y : tensor<4xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<8xf32>, tensor<4xf32>
}

// Neither has a scalar, nor a tensor without elements.
// CHECK-LABEL: @nothing_to_cut(
// CHECK-NOT: scf.forall
// CHECK: return
func.func private @nothing_to_cut(%x: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<f32>
  %0 = linalg.exp ins(%x : tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK-LABEL: @no_elements(
// CHECK-NOT: scf.forall
// CHECK: return
func.func private @no_elements(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
  %e = tensor.empty() : tensor<0x4xf32>
  %0 = linalg.exp ins(%x : tensor<0x4xf32>) outs(%e : tensor<0x4xf32>) -> tensor<0x4xf32>
  return %0 : tensor<0x4xf32>
}

// Rows of the filter are not columns of the image: 7x7 pixels are cut together, channels apart.
// CHECK-LABEL: @small_image(
// CHECK: scf.forall (%{{.*}}) = (0) to (64) step (2)
// CHECK: ins(%{{.*}}, %{{.*}} : tensor<512x7x7xf32>, tensor<2x512xf32>)
func.func private @small_image(%x: tensor<512x7x7xf32>, %w: tensor<64x512xf32>) -> tensor<64x7x7xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x7x7xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x7x7xf32>) -> tensor<64x7x7xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(o, h, w, c) -> (c, h, w)>, affine_map<(o, h, w, c) -> (o, c)>, affine_map<(o, h, w, c) -> (o, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<512x7x7xf32>, tensor<64x512xf32>) outs(%f : tensor<64x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %c, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x7x7xf32>
  return %0 : tensor<64x7x7xf32>
}

// Of rows that are added up an item has columns that fill lines of the cache: with fewer, each line is read by several.
#column = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: @columns_of_rows(
// CHECK: scf.forall (%{{.*}}) = (0) to (64) step (32)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<4096x32xf32>)
func.func private @columns_of_rows(%x: tensor<4096x64xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4096x64xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b fastmath<reassoc,nsz,contract> : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
