// RUN: gantry-opt %s --gantry-order-gpu-terms | FileCheck %s

#image = affine_map<(n, o, y, x, ky, kx, c) -> (n, c, y + ky, x + kx)>
#filter = affine_map<(n, o, y, x, ky, kx, c) -> (o, c, ky, kx)>
#sums = affine_map<(n, o, y, x, ky, kx, c) -> (n, o, y, x)>
#left = affine_map<(i, j, k, l) -> (i, l, k)>
#right = affine_map<(i, j, k, l) -> (k, l, j)>
#out = affine_map<(i, j, k, l) -> (i, j)>

// The channels come first, as in the filter, and the window follows.
// CHECK-DAG: #[[$IMAGE:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
// CHECK-DAG: #[[$FILTER:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
// CHECK-DAG: #[[$LEFT:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
// CHECK-DAG: #[[$RIGHT:.*]] = affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>
// CHECK-LABEL: @convolution(
// CHECK: indexing_maps = [#[[$IMAGE]], #[[$FILTER]], #{{.*}}]
func.func @convolution(%image: tensor<1x8x9x9xf32>, %filter: tensor<4x8x3x3xf32>, %zeros: tensor<1x4x7x7xf32>) -> tensor<1x4x7x7xf32> {
  %0 = linalg.generic {indexing_maps = [#image, #filter, #sums],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%image, %filter : tensor<1x8x9x9xf32>, tensor<4x8x3x3xf32>) outs(%zeros : tensor<1x4x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<1x4x7x7xf32>
  return %0 : tensor<1x4x7x7xf32>
}

// What reads no window keeps its order.
// CHECK-LABEL: @product(
// CHECK: indexing_maps = [#[[$LEFT]], #[[$RIGHT]], #{{.*}}]
func.func @product(%a: tensor<4x5x6xf32>, %b: tensor<6x5x7xf32>, %zeros: tensor<4x7xf32>) -> tensor<4x7xf32> {
  %0 = linalg.generic {indexing_maps = [#left, #right, #out],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : tensor<4x5x6xf32>, tensor<6x5x7xf32>) outs(%zeros : tensor<4x7xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x7xf32>
  return %0 : tensor<4x7xf32>
}
