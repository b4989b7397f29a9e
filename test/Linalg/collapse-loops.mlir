// RUN: gantry-opt %s --gantry-collapse-loops --canonicalize | FileCheck %s

#id = affine_map<(n, h, w) -> (n, h, w)>
#channel = affine_map<(n, h, w) -> (n)>

// Dimensions that lie one after the other in every operand are one loop.
// CHECK-LABEL: @all_of_them(
// CHECK: memref.collapse_shape %{{.*}} {{\[}}[0, 1, 2]] : memref<2x3x4xf32> into memref<24xf32>
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%{{.*}} : memref<24xf32>)
func.func private @all_of_them(%x: memref<2x3x4xf32>, %y: memref<2x3x4xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<2x3x4xf32>) outs(%y : memref<2x3x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  }
  return
}

// An operand that uses one of two loops keeps them apart: a channel's value holds for its image.
// CHECK-LABEL: @but_for_channels(
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%{{.*}}, %{{.*}} : memref<2x12xf32>, memref<2xf32>)
func.func private @but_for_channels(%x: memref<2x3x4xf32>, %s: memref<2xf32>, %y: memref<2x3x4xf32>) {
  linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : memref<2x3x4xf32>, memref<2xf32>) outs(%y : memref<2x3x4xf32>) {
  ^bb0(%a: f32, %c: f32, %b: f32):
    %0 = arith.mulf %a, %c : f32
    linalg.yield %0 : f32
  }
  return
}

// Rows with a gap between them are left alone.
// CHECK-LABEL: @but_for_gaps(
// CHECK: iterator_types = ["parallel", "parallel"]
// CHECK-SAME: memref<3x4xf32, strided<[8, 1]>>
func.func private @but_for_gaps(%x: memref<3x4xf32, strided<[8, 1]>>, %y: memref<3x4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(h, w) -> (h, w)>, affine_map<(h, w) -> (h, w)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<3x4xf32, strided<[8, 1]>>) outs(%y : memref<3x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  }
  return
}

// So are loops of different kinds, and transposed operands.
// CHECK-LABEL: @but_for_kinds(
// CHECK: iterator_types = ["parallel", "reduction"]
func.func private @but_for_kinds(%x: memref<3x4xf32>, %y: memref<3xf32>) {
  linalg.generic {indexing_maps = [affine_map<(h, w) -> (h, w)>, affine_map<(h, w) -> (h)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<3x4xf32>) outs(%y : memref<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}
// CHECK-LABEL: @but_for_transposes(
// CHECK: iterator_types = ["parallel", "parallel"]
func.func private @but_for_transposes(%x: memref<4x3xf32>, %y: memref<3x4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(h, w) -> (w, h)>, affine_map<(h, w) -> (h, w)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x3xf32>) outs(%y : memref<3x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}

// Rows and columns of an image are one loop beside the channels: a 1x1 convolution is a matrix
// product.
// CHECK-LABEL: @pointwise_convolution(
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-SAME: ins(%{{.*}}, %{{.*}} : memref<3x20xf32>, memref<6x3xf32>) outs(%{{.*}} : memref<6x20xf32>)
func.func private @pointwise_convolution(%x: memref<3x4x5xf32>, %f: memref<6x3xf32>, %y: memref<6x4x5xf32>) {
  linalg.generic {indexing_maps = [affine_map<(o, h, w, c) -> (c, h, w)>, affine_map<(o, h, w, c) -> (o, c)>, affine_map<(o, h, w, c) -> (o, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %f : memref<3x4x5xf32>, memref<6x3xf32>) outs(%y : memref<6x4x5xf32>) {
  ^bb0(%a: f32, %w: f32, %b: f32):
    %0 = arith.mulf %a, %w : f32
    %1 = arith.addf %b, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// A window of size 1 is read at 0 only: its dimensions leave the filter, and rows and columns merge.
// CHECK-LABEL: @window_of_one(
// CHECK: memref.collapse_shape %{{.*}} {{\[}}[0], [1, 2, 3]] : memref<6x3x1x1xf32> into memref<6x3xf32>
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-SAME: ins(%{{.*}}, %{{.*}} : memref<3x20xf32>, memref<6x3xf32>) outs(%{{.*}} : memref<6x20xf32>)
func.func private @window_of_one(%x: memref<3x4x5xf32>, %f: memref<6x3x1x1xf32>, %y: memref<6x4x5xf32>) {
  linalg.generic {indexing_maps = [affine_map<(o, h, w, c, i, j) -> (c, h + i, w + j)>, affine_map<(o, h, w, c, i, j) -> (o, c, i, j)>, affine_map<(o, h, w, c, i, j) -> (o, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %f : memref<3x4x5xf32>, memref<6x3x1x1xf32>) outs(%y : memref<6x4x5xf32>) {
  ^bb0(%a: f32, %w: f32, %b: f32):
    %0 = arith.mulf %a, %w : f32
    %1 = arith.addf %b, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// A number for each channel, with dimensions of 1 in front: what is added up stays one loop.
// CHECK-LABEL: @channels(
// CHECK: memref.collapse_shape %{{.*}} {{\[}}[0, 1, 2]] : memref<1x1x8xf32> into memref<8xf32>
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]}
// CHECK-SAME: ins(%{{.*}}, %{{.*}} : memref<12x8xf32>, memref<8xf32>) outs(%{{.*}} : memref<8xf32>)
func.func private @channels(%x: memref<3x4x8xf32>, %m: memref<1x1x8xf32>, %y: memref<8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(h, w, c) -> (h, w, c)>, affine_map<(h, w, c) -> (0, 0, c)>, affine_map<(h, w, c) -> (c)>], iterator_types = ["reduction", "reduction", "parallel"]} ins(%x, %m : memref<3x4x8xf32>, memref<1x1x8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %w: f32, %b: f32):
    %0 = arith.mulf %a, %w : f32
    %1 = arith.addf %b, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
