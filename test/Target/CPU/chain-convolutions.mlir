// Which convolutions around one of each channel by itself are computed row by row with it.

// RUN: gantry-opt %s --gantry-chain-convolutions | FileCheck %s --check-prefixes=CHECK,TIME
// RUN: gantry-opt %s --gantry-chain-convolutions=all | FileCheck %s --check-prefixes=CHECK,MEMORY

// What is between is larger than the second cache: all of it joins the last one, but for that.
// CHECK-LABEL: @large(
// CHECK: gantry.conv {{.*}}gantry.by_rows{{.*}}groups = 1
// CHECK: gantry.add {{.*}}gantry.by_rows
// CHECK: gantry.relu {{.*}}gantry.by_rows
// CHECK: gantry.mul {{.*}}gantry.by_rows
// CHECK: gantry.conv {{.*}}gantry.by_rows{{.*}}groups = 144
// CHECK: gantry.relu {{.*}}gantry.by_rows
// CHECK-NOT: gantry.by_rows
// CHECK: return
func.func @large(%x: tensor<1x56x56x24xf32>, %we: tensor<3x1x1x24x48xf32>, %be: tensor<1x1x1x144xf32>, %wd: tensor<1x3x3x1x144xf32>, %wp: tensor<1x1x1x144x24xf32>) -> tensor<1x56x56x24xf32> {
  %0 = gantry.conv %x, %we {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x56x56x24xf32>, tensor<3x1x1x24x48xf32>) -> tensor<1x56x56x144xf32>
  %1 = gantry.add %0, %be : (tensor<1x56x56x144xf32>, tensor<1x1x1x144xf32>) -> tensor<1x56x56x144xf32>
  %2 = gantry.relu %1 : (tensor<1x56x56x144xf32>) -> tensor<1x56x56x144xf32>
  %3 = gantry.mul %1, %2 : (tensor<1x56x56x144xf32>, tensor<1x56x56x144xf32>) -> tensor<1x56x56x144xf32>
  %4 = gantry.conv %3, %wd {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 144 : i64} : (tensor<1x56x56x144xf32>, tensor<1x3x3x1x144xf32>) -> tensor<1x56x56x144xf32>
  %5 = gantry.relu %4 : (tensor<1x56x56x144xf32>) -> tensor<1x56x56x144xf32>
  %6 = gantry.conv %5, %wp {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x56x56x144xf32>, tensor<1x1x1x144x24xf32>) -> tensor<1x56x56x24xf32>
  %7 = gantry.add %6, %x : (tensor<1x56x56x24xf32>, tensor<1x56x56x24xf32>) -> tensor<1x56x56x24xf32>
  return %7 : tensor<1x56x56x24xf32>
}

// What fits the cache is chosen for its memory alone.
// CHECK-LABEL: @small(
// TIME-NOT: gantry.by_rows
// MEMORY: gantry.conv {{.*}}gantry.by_rows
// CHECK: return
func.func @small(%x: tensor<1x16x16x16xf32>, %wd: tensor<1x3x3x1x16xf32>, %wp: tensor<1x1x1x16x8xf32>) -> tensor<1x16x16x8xf32> {
  %0 = gantry.conv %x, %wd {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 16 : i64} : (tensor<1x16x16x16xf32>, tensor<1x3x3x1x16xf32>) -> tensor<1x16x16x16xf32>
  %1 = gantry.conv %0, %wp {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x16x16xf32>, tensor<1x1x1x16x8xf32>) -> tensor<1x16x16x8xf32>
  return %1 : tensor<1x16x16x8xf32>
}

// What others read, too, has to be whole.
// CHECK-LABEL: @shared(
// CHECK-NOT: gantry.by_rows
// CHECK: return
func.func @shared(%x: tensor<1x128x128x32xf32>, %wd: tensor<1x3x3x1x32xf32>, %wp: tensor<1x1x1x32x8xf32>) -> (tensor<1x128x128x8xf32>, tensor<1x128x128x32xf32>) {
  %0 = gantry.conv %x, %wd {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 32 : i64} : (tensor<1x128x128x32xf32>, tensor<1x3x3x1x32xf32>) -> tensor<1x128x128x32xf32>
  %1 = gantry.conv %0, %wp {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x128x128x32xf32>, tensor<1x1x1x32x8xf32>) -> tensor<1x128x128x8xf32>
  return %1, %0 : tensor<1x128x128x8xf32>, tensor<1x128x128x32xf32>
}

// One convolution of pixels between two of each channel belongs to the first chain.
// CHECK-LABEL: @between(
// CHECK: gantry.conv {{.*}}gantry.by_rows
// CHECK-NOT: gantry.by_rows
// CHECK: return
func.func @between(%x: tensor<1x128x128x32xf32>, %wd: tensor<1x3x3x1x32xf32>, %wp: tensor<1x1x1x32x32xf32>) -> tensor<1x128x128x32xf32> {
  %0 = gantry.conv %x, %wd {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 32 : i64} : (tensor<1x128x128x32xf32>, tensor<1x3x3x1x32xf32>) -> tensor<1x128x128x32xf32>
  %1 = gantry.conv %0, %wp {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x128x128x32xf32>, tensor<1x1x1x32x32xf32>) -> tensor<1x128x128x32xf32>
  %2 = gantry.conv %1, %wd {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 32 : i64} : (tensor<1x128x128x32xf32>, tensor<1x3x3x1x32xf32>) -> tensor<1x128x128x32xf32>
  return %2 : tensor<1x128x128x32xf32>
}
