// Matrix products, convolutions and pools: everything is in the indexing maps.

// RUN: gantry-opt --gantry-lower-kernels-to-linalg %s | FileCheck %s

// Loops are batch, m, n and k; transposing and batch broadcasting need no copy.
// CHECK-DAG:   #[[$A:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1)>
// CHECK-DAG:   #[[$B:.*]] = affine_map<(d0, d1, d2, d3) -> (0, d2, d3)>
// CHECK-DAG:   #[[$C:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: func.func private @matmul(
// CHECK:         linalg.fill
// CHECK:         linalg.generic {indexing_maps = [#[[$A]], #[[$B]], #[[$C]]],
// CHECK-SAME:      iterator_types = ["parallel", "parallel", "parallel", "reduction"]
gantry.kernel @matmul {
^bb0(%a: tensor<5x8x4xf32>, %b: tensor<1x6x8xf32>):
  %0 = gantry.matmul %a, %b {transpose_a, transpose_b} : (tensor<5x8x4xf32>, tensor<1x6x8xf32>) -> tensor<5x4x6xf32>
  gantry.yield %0 : tensor<5x4x6xf32>
}

// f16 sums in f32 and rounds once.
// CHECK-LABEL: func.func private @matmul_half(
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%{{.*}}, %{{.*}} : tensor<4x8xf16>, tensor<8x6xf16>) outs(%{{.*}} : tensor<4x6xf32>)
// CHECK:         linalg.generic
// CHECK:           arith.truncf
gantry.kernel @matmul_half {
^bb0(%a: tensor<4x8xf16>, %b: tensor<8x6xf16>):
  %0 = gantry.matmul %a, %b : (tensor<4x8xf16>, tensor<8x6xf16>) -> tensor<4x6xf16>
  gantry.yield %0 : tensor<4x6xf16>
}

// Bytes are widened to what their sums are, each by its sign.
// CHECK-LABEL: func.func private @matmul_bytes(
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%{{.*}}, %{{.*}} : tensor<4x8xi8>, tensor<8x6xi8>) outs(%{{.*}} : tensor<4x6xi32>)
// CHECK-NEXT:    ^bb0(%[[A:.*]]: i8, %[[B:.*]]: i8, %[[SUM:.*]]: i32):
// CHECK-NEXT:      %[[X:.*]] = arith.extui %[[A]]
// CHECK-NEXT:      %[[Y:.*]] = arith.extsi %[[B]]
// CHECK-NEXT:      %[[PRODUCT:.*]] = arith.muli %[[X]], %[[Y]]
// CHECK-NEXT:      arith.addi %[[SUM]], %[[PRODUCT]]
gantry.kernel @matmul_bytes {
^bb0(%a: tensor<4x8xui8>, %b: tensor<8x6xi8>):
  %0 = gantry.matmul %a, %b : (tensor<4x8xui8>, tensor<8x6xi8>) -> tensor<4x6xi32>
  gantry.yield %0 : tensor<4x6xi32>
}

// The sums are the result of a product that keeps them, and the op that makes them says so.
// CHECK-LABEL: func.func private @matmul_wide(
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%{{.*}}, %{{.*}} : tensor<4x8xbf16>, tensor<8x6xbf16>) outs(%{{.*}} : tensor<4x6xf32>) attrs = {gantry.accumulate_wide}
// CHECK-NOT:     arith.truncf
gantry.kernel @matmul_wide {
^bb0(%a: tensor<4x8xbf16>, %b: tensor<8x6xbf16>):
  %0 = gantry.matmul %a, %b {accumulate_type = f32} : (tensor<4x8xbf16>, tensor<8x6xbf16>) -> tensor<4x6xf32>
  gantry.yield %0 : tensor<4x6xf32>
}

// CHECK-LABEL: func.func private @conv(
// CHECK:         tensor.pad %{{.*}} low[0, 0, 1, 1] high[0, 0, 1, 1]
// CHECK:         linalg.generic
// CHECK-SAME:      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
gantry.kernel @conv {
^bb0(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>):
  %0 = gantry.conv %x, %w {strides = array<i64: 2, 2>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>
  gantry.yield %0 : tensor<1x4x4x4xf32>
}

// What had a border adds +0 to its sums: to those of f32 before they are rounded, and before groups
// are joined.
// CHECK-LABEL: func.func private @plus_zero(
// CHECK:         %[[SUMS:.*]] = linalg.generic {{.*}}"reduction"]
// CHECK:         %[[MORE:.*]] = linalg.generic {{.*}} ins(%[[SUMS]] : tensor<1x2x2x4xf32>)
// CHECK:           %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:           arith.addf %{{.*}}, %[[ZERO]] : f32
// CHECK:         linalg.generic {{.*}} ins(%[[MORE]] : tensor<1x2x2x4xf32>)
// CHECK:           arith.truncf
gantry.kernel @plus_zero {
^bb0(%x: tensor<1x6x6xf16>, %w: tensor<4x3x3xf16>):
  %0 = gantry.conv %x, %w {border = #gantry<border plus_zero>, strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 2 : i64} : (tensor<1x6x6xf16>, tensor<4x3x3xf16>) -> tensor<1x4x4xf16>
  gantry.yield %0 : tensor<1x4x4xf16>
}

// That a border may be left out goes with the sums.
// CHECK-LABEL: func.func private @skips_border(
// CHECK:         linalg.generic {{.*}}gantry.unseen_border
// CHECK-NOT:     linalg.generic
// CHECK:         return
gantry.kernel @skips_border {
^bb0(%x: tensor<1x8x2xf32>, %w: tensor<1x3x2x4xf32>):
  %0 = gantry.conv %x, %w {border = #gantry<border unseen>, layout = #gantry<image_layout NHWC>, strides = array<i64: 1>, pads_low = array<i64: 1>, pads_high = array<i64: 1>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x8x2xf32>, tensor<1x3x2x4xf32>) -> tensor<1x8x4xf32>
  gantry.yield %0 : tensor<1x8x4xf32>
}

// A packed transposed convolution reads the window from the filter's last place on, in an image that
// lies among zeros by one copy.
// CHECK-LABEL: func.func private @spread_packed(
// CHECK-SAME:    %[[X:.*]]: tensor<1x4x3xf32>, %[[W:.*]]: tensor<1x3x3x2xf32>
// CHECK:         %[[IMAGE:.*]] = tensor.insert_slice %[[X]] into %{{.*}}[0, 1, 0] [1, 4, 3] [1, 2, 1] : tensor<1x4x3xf32> into tensor<1x10x3xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[IMAGE]], %[[W]], %{{.*}} : tensor<1x10x3xf32>, tensor<1x3x3x2xf32>, tensor<3xf32>)
// CHECK:         return
gantry.kernel @spread_packed {
^bb0(%x: tensor<1x4x3xf32>, %w: tensor<1x3x3x2xf32>):
  %0 = gantry.conv_transpose %x, %w {strides = array<i64: 2>, pads_low = array<i64: 1>, pads_high = array<i64: 1>, dilations = array<i64: 1>, output_pads = array<i64: 1>, groups = 1 : i64} : (tensor<1x4x3xf32>, tensor<1x3x3x2xf32>) -> tensor<1x8x2xf32>
  gantry.yield %0 : tensor<1x8x2xf32>
}

// A 1x1 window has no loops: this is a matrix product.
// CHECK-LABEL: func.func private @pointwise(
// CHECK-NOT:     tensor.pad
// CHECK:         iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]
gantry.kernel @pointwise {
^bb0(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x1x1xf32>):
  %0 = gantry.conv %x, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
  gantry.yield %0 : tensor<1x4x8x8xf32>
}

// A depthwise convolution has neither a loop over channels of a group nor a reshape.
// CHECK-LABEL: func.func private @depthwise(
// CHECK-NOT:     tensor.expand_shape
// CHECK:         iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK-NOT:     tensor.collapse_shape
// CHECK:         return
gantry.kernel @depthwise {
^bb0(%x: tensor<2x4x6xf32>, %w: tensor<4x1x3xf32>):
  %0 = gantry.conv %x, %w {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 4 : i64} : (tensor<2x4x6xf32>, tensor<4x1x3xf32>) -> tensor<2x4x4xf32>
  gantry.yield %0 : tensor<2x4x4xf32>
}

// Stride - 1 zeros come between the elements, then it is a convolution of stride 1.
// CHECK-LABEL: func.func private @transposed(
// CHECK:         tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 0] [1, 3, 4] [1, 1, 2] : tensor<1x3x4xf32> into tensor<1x3x7xf32>
// CHECK:         tensor.pad %{{.*}} low[0, 0, 2] high[0, 0, 2]
gantry.kernel @transposed {
^bb0(%x: tensor<1x3x4xf32>, %w: tensor<3x2x3xf32>):
  %0 = gantry.conv_transpose %x, %w {strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, output_pads = array<i64: 0>, groups = 1 : i64} : (tensor<1x3x4xf32>, tensor<3x2x3xf32>) -> tensor<1x2x9xf32>
  gantry.yield %0 : tensor<1x2x9xf32>
}

// The border of a maximum never wins.
// CHECK-LABEL: func.func private @max_pool(
// CHECK:         %[[LEAST:.*]] = arith.constant -128 : i8
// CHECK:         tensor.pad
// CHECK:           tensor.yield %[[LEAST]]
// CHECK:         arith.maxsi
gantry.kernel @max_pool {
^bb0(%x: tensor<1x3x8xi8>):
  %0 = gantry.max_pool %x {window = array<i64: 3>, strides = array<i64: 2>, pads_low = array<i64: 1>, pads_high = array<i64: 1>, dilations = array<i64: 1>} : (tensor<1x3x8xi8>) -> tensor<1x3x4xi8>
  gantry.yield %0 : tensor<1x3x4xi8>
}

// Whole windows divide by a constant.
// CHECK-LABEL: func.func private @avg_pool(
// CHECK-NOT:     linalg.index
// CHECK:         arith.divf
// CHECK-NOT:     linalg.index
// CHECK:         return
gantry.kernel @avg_pool {
^bb0(%x: tensor<1x3x8xf32>):
  %0 = gantry.avg_pool %x {window = array<i64: 2>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  gantry.yield %0 : tensor<1x3x4xf32>
}

// Windows over the border divide by what they hold.
// CHECK-LABEL: func.func private @avg_pool_border(
// CHECK:         linalg.index 2
// CHECK:         arith.divf
gantry.kernel @avg_pool_border {
^bb0(%x: tensor<1x3x8xf32>):
  %0 = gantry.avg_pool %x {window = array<i64: 3>, strides = array<i64: 2>, pads_low = array<i64: 1>, pads_high = array<i64: 0>, dilations = array<i64: 1>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  gantry.yield %0 : tensor<1x3x4xf32>
}

// A loop without iterations leaves what the sum starts from: no op has a dimension of size 0.
// CHECK-LABEL: func.func private @matmul_of_nothing(
// CHECK-NOT:     linalg.generic
// CHECK:         %[[ZEROS:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<2x3xf32>)
// CHECK:         return %[[ZEROS]]
gantry.kernel @matmul_of_nothing {
  %a = gantry.constant dense<> : tensor<2x0xf32>
  %b = gantry.constant dense<> : tensor<0x3xf32>
  %0 = gantry.matmul %a, %b : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  gantry.yield %0 : tensor<2x3xf32>
}
