// A convolution with the channels last, its borders and its epilogue are one loop over work items:
// nothing but the result is written, and nothing is allocated but what has the borders.

// RUN: gantry-opt %s --gantry-kernel-pipeline | FileCheck %s

// Pixels at the border are read from a row of zeros on the stack, where rows of the image are too
// long to be copied there. There are few channels, so that
// blocks without a border go along rows of the window, 3 pixels of 16 channels, and select nothing.
// CHECK-LABEL: func.func private @bordered(
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<16xf32>
// CHECK-NOT: memref.alloc
// CHECK: scf.if
// CHECK-NOT: arith.select
// CHECK: scf.for {{.*}} to %c48{{(_[0-9]+)?}} 
// CHECK-NOT: arith.select
// CHECK: } else {
// CHECK: arith.select {{.*}} : memref<16xf32, strided<[1], offset: ?>>
// CHECK: vector.fma {{.*}} : vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: vector.store {{.*}} : memref<460800xf32>, vector<16xf32>
// CHECK-NOT: memref.alloc
// CHECK: return
gantry.kernel @bordered {
^bb0(%x: tensor<1x8x600x16xf32>, %w: tensor<2x3x3x16x48xf32>, %b: tensor<1x1x1x96xf32>):
  %0 = gantry.conv %x, %w {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x600x16xf32>, tensor<2x3x3x16x48xf32>) -> tensor<1x8x600x96xf32>
  %1 = gantry.add %0, %b : (tensor<1x8x600x96xf32>, tensor<1x1x1x96xf32>) -> tensor<1x8x600x96xf32>
  gantry.yield %1 : tensor<1x8x600x96xf32>
}

// Truth values are bytes in memory, which vectors of them would not be: lanes are stored one by one.
// CHECK-LABEL: func.func private @decided(
// CHECK: arith.cmpf {{.*}} : vector<16xf32>
// CHECK-NOT: vector.store {{.*}}xi1>
// CHECK: memref.store {{.*}} : memref<460800xi1>
// CHECK-NOT: vector.store {{.*}}xi1>
// CHECK: return
gantry.kernel @decided {
^bb0(%x: tensor<1x8x600x16xf32>, %w: tensor<2x3x3x16x48xf32>):
  %n = gantry.constant dense<0.5> : tensor<f32>
  %0 = gantry.conv %x, %w {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x600x16xf32>, tensor<2x3x3x16x48xf32>) -> tensor<1x8x600x96xf32>
  %1 = gantry.compare gt, %0, %n : (tensor<1x8x600x96xf32>, tensor<f32>) -> tensor<1x8x600x96xi1>
  gantry.yield %1 : tensor<1x8x600x96xi1>
}

// Else an item copies what its pixels read there, with its borders: 10 places of 16 channels are a
// slice. Rows of the window are runs, and nothing is selected.
// CHECK-LABEL: func.func private @strip(
// CHECK: %[[STRIP:.*]] = memref.alloca() {alignment = 64 : i64} : memref<{{[0-9]+}}0xf32>
// CHECK-NOT: arith.select
// CHECK: scf.if
// CHECK: vector.store {{.*}}, %[[STRIP]][
// CHECK: } else {
// CHECK: vector.store {{.*}}, %[[STRIP]][
// CHECK: memref.reinterpret_cast %[[STRIP]] to
// CHECK: scf.for {{.*}} to %c48{{(_[0-9]+)?}} 
// CHECK-NOT: arith.select
// CHECK: vector.fma {{.*}} : vector<16xf32>
// CHECK-NOT: arith.select
// CHECK: return
gantry.kernel @strip {
^bb0(%x: tensor<1x8x8x16xf32>, %w: tensor<2x3x3x16x48xf32>):
  %0 = gantry.conv %x, %w {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x8x16xf32>, tensor<2x3x3x16x48xf32>) -> tensor<1x8x8x96xf32>
  gantry.yield %0 : tensor<1x8x8x96xf32>
}

// A transposed convolution is its phases of pixels, one after the other in each item: here every other
// pixel, whose windows meet the filter's second place, and those between, which meet the third and
// then the first. Nothing has zeros between pixels, and what follows comes before sums are stored.
// CHECK-LABEL: func.func private @phases(
// CHECK-NOT: memref.alloc()
// CHECK-DAG: %[[X:.*]] = memref.collapse_shape %arg0 {{.*}} into memref<640xf32>
// CHECK-DAG: %[[W:.*]] = memref.collapse_shape %arg1 {{.*}} into memref<768xf32>
// CHECK-DAG: %[[B:.*]] = memref.collapse_shape %arg2 {{.*}} into memref<1280xf32>
// CHECK-DAG: %[[Y:.*]] = memref.collapse_shape %arg3 {{.*}} into memref<1280xf32>
// CHECK: %[[SUMS:.*]]:14 = scf.for {{.*}} to %c16
// CHECK: %[[PLACE:.*]] = arith.addi %{{.*}}, %c256
// CHECK: vector.load %[[W]][%[[PLACE]]]
// CHECK: %[[OTHER:.*]] = vector.load %[[B]][%c32]
// CHECK: %[[SUM:.*]] = arith.addf %[[SUMS]]#1, %[[OTHER]]
// CHECK: vector.store %[[SUM]], %[[Y]][%c32]
// CHECK: scf.for %[[TAP:.*]] = %c0 to %c2
// CHECK: %[[BACK:.*]] = arith.muli %[[TAP]], %c2
// CHECK: arith.subi %c2, %[[BACK]]
// CHECK: vector.store %{{.*}}, %[[Y]][%c48]
// CHECK-NOT: memref.alloc()
// CHECK: return
gantry.kernel @phases {
^bb0(%x: tensor<1x40x16xf32>, %w: tensor<1x3x16x16xf32>, %b: tensor<1x80x16xf32>):
  %0 = gantry.conv_transpose %x, %w {strides = array<i64: 2>, pads_low = array<i64: 1>, pads_high = array<i64: 1>, output_pads = array<i64: 1>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x40x16xf32>, tensor<1x3x16x16xf32>) -> tensor<1x80x16xf32>
  %1 = gantry.add %0, %b : (tensor<1x80x16xf32>, tensor<1x80x16xf32>) -> tensor<1x80x16xf32>
  gantry.yield %1 : tensor<1x80x16xf32>
}

// A panel wider than registers go through has bands of 48 columns, at the end two of at most 32
// rather than one of a single register; rows to come are fetched ahead.
// CHECK-LABEL: func.func private @bands(
// CHECK: scf.if
// CHECK: memref.prefetch
// CHECK-COUNT-3: vector.load {{.*}} vector<16xf32>
// CHECK: scf.if
// CHECK: scf.if
// CHECK: vector.maskedload {{.*}} vector<4xf32>
// CHECK-NOT: scf.if
// CHECK: return
gantry.kernel @bands {
^bb0(%x: tensor<1x8x8x16xf32>, %w: tensor<1x1x1x16x99xf32>):
  %0 = gantry.conv %x, %w {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x8x16xf32>, tensor<1x1x1x16x99xf32>) -> tensor<1x8x8x99xf32>
  gantry.yield %0 : tensor<1x8x8x99xf32>
}

// A 1x1 window is a product of matrices: no division finds a pixel's place, no row of zeros.
// CHECK-LABEL: func.func private @product(
// CHECK-NOT: memref.alloc
// CHECK-NOT: arith.divui
// CHECK-NOT: arith.select
// CHECK: vector.fma
// CHECK: return
gantry.kernel @product {
^bb0(%x: tensor<1x8x8x16xf32>, %w: tensor<1x1x1x16x32xf32>):
  %0 = gantry.conv %x, %w {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x8x16xf32>, tensor<1x1x1x16x32xf32>) -> tensor<1x8x8x32xf32>
  gantry.yield %0 : tensor<1x8x8x32xf32>
}

// Each channel by itself: registers along the channels, the last of 20 masked.
// CHECK-LABEL: func.func private @depthwise(
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<20xf32>
// CHECK: vector.fma {{.*}} : vector<16xf32>
// CHECK: vector.load {{.*}} vector<4xf32>
// CHECK: return
gantry.kernel @depthwise {
^bb0(%x: tensor<1x9x9x20xf32>, %w: tensor<1x3x3x1x20xf32>):
  %0 = gantry.conv %x, %w {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 20 : i64} : (tensor<1x9x9x20xf32>, tensor<1x3x3x1x20xf32>) -> tensor<1x9x9x20xf32>
  gantry.yield %0 : tensor<1x9x9x20xf32>
}
