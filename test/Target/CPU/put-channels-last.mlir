// Convolutions and what follows them take the form with the channels last; reorders stand at the
// borders, and where they cost more than is gained nothing changes.

// RUN: gantry-opt %s --gantry-put-channels-last --cse --canonicalize | FileCheck %s

// Borders go into the convolution, the bias is turned, and so is what is added.
// CHECK-LABEL: @follow(
// CHECK-SAME: %[[X:.*]]: tensor<1x16x64x64xf32>, %[[W:.*]]: tensor<48x16x3x3xf32>, %[[B:.*]]: tensor<1x48x1x1xf32>
// CHECK-DAG: %[[XL:.*]] = gantry.transpose %[[X]] {{.*}}permutation = array<i64: 0, 2, 3, 1>
// CHECK-DAG: %[[WS:.*]] = gantry.reshape %[[W]] {{.*}} -> tensor<1x48x16x3x3xf32>
// CHECK-DAG: %[[WP:.*]] = gantry.transpose %[[WS]] {{.*}} -> tensor<1x3x3x16x48xf32>
// CHECK: %[[C:.*]] = gantry.conv %[[XL]], %[[WP]] {{.*}}groups = 1 : i64, layout = #gantry<image_layout NHWC>, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>{{.*}}-> tensor<1x64x64x48xf32>
// CHECK: %[[BL:.*]] = gantry.reshape %[[B]] {{.*}} -> tensor<1x1x1x48xf32>
// CHECK: %[[S:.*]] = gantry.add %[[C]], %[[BL]]
// CHECK: %[[P:.*]] = gantry.max_pool %[[S]] {{.*}}layout = #gantry<image_layout NHWC>{{.*}} -> tensor<1x32x32x48xf32>
// CHECK: %[[J:.*]] = gantry.concat %[[P]], %[[P]] {axis = 3 : i64} : {{.*}} -> tensor<1x32x32x96xf32>
// CHECK: %[[Y:.*]] = gantry.transpose %[[J]] {{.*}}permutation = array<i64: 0, 3, 1, 2>
// CHECK: return %[[Y]]
func.func @follow(%x: tensor<1x16x64x64xf32>, %w: tensor<48x16x3x3xf32>, %b: tensor<1x48x1x1xf32>) -> tensor<1x96x32x32xf32> {
  %zero = gantry.constant dense<0.0> : tensor<f32>
  %0 = gantry.pad %x, %zero {low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>, mode = #gantry<pad_mode constant>} : (tensor<1x16x64x64xf32>, tensor<f32>) -> tensor<1x16x66x66xf32>
  %1 = gantry.conv %0, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x66x66xf32>, tensor<48x16x3x3xf32>) -> tensor<1x48x64x64xf32>
  %2 = gantry.add %1, %b : (tensor<1x48x64x64xf32>, tensor<1x48x1x1xf32>) -> tensor<1x48x64x64xf32>
  %3 = gantry.max_pool %2 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x48x64x64xf32>) -> tensor<1x48x32x32xf32>
  %4 = gantry.concat %3, %3 {axis = 1 : i64} : (tensor<1x48x32x32xf32>, tensor<1x48x32x32xf32>) -> tensor<1x96x32x32xf32>
  return %4 : tensor<1x96x32x32xf32>
}

// The graph's own transpose meets ours: patches of an image as rows of a matrix.
// CHECK-LABEL: @patches(
// CHECK: %[[C:.*]] = gantry.conv
// CHECK: %[[R:.*]] = gantry.reshape %[[C]] : (tensor<1x14x14x96xf32>) -> tensor<1x196x96xf32>
// CHECK: return %[[R]]
func.func @patches(%x: tensor<1x3x224x224xf32>, %w: tensor<96x3x16x16xf32>) -> tensor<1x196x96xf32> {
  %0 = gantry.conv %x, %w {strides = array<i64: 16, 16>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x224x224xf32>, tensor<96x3x16x16xf32>) -> tensor<1x96x14x14xf32>
  %1 = gantry.reshape %0 : (tensor<1x96x14x14xf32>) -> tensor<1x96x196xf32>
  %2 = gantry.transpose %1 {permutation = array<i64: 0, 2, 1>} : (tensor<1x96x196xf32>) -> tensor<1x196x96xf32>
  return %2 : tensor<1x196x96xf32>
}

// Constant filters are packed here: what counts the output channels is last.
// CHECK-LABEL: @constant(
// CHECK: gantry.constant dense<{{\[\[\[\[\[}}1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]]]]]> : tensor<1x1x1x2x2xf32>
// CHECK-NOT: gantry.transpose %{{.*}} tensor<2x2x1x1xf32>
func.func @constant(%x: tensor<64x2x1x1000xf32>) -> tensor<64x2x1x1000xf32> {
  %w = gantry.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]]> : tensor<2x2x1x1xf32>
  %v = gantry.constant dense<1.0> : tensor<64x2x21x21xf32>
  %u = gantry.constant dense<1.0> : tensor<2x64x21x21xf32>
  %0 = gantry.conv %x, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<64x2x1x1000xf32>, tensor<2x2x1x1xf32>) -> tensor<64x2x1x1000xf32>
  %1 = gantry.conv %0, %v {strides = array<i64: 1, 1>, pads_low = array<i64: 10, 10>, pads_high = array<i64: 10, 10>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<64x2x1x1000xf32>, tensor<64x2x21x21xf32>) -> tensor<64x64x1x1000xf32>
  %2 = gantry.conv %1, %u {strides = array<i64: 1, 1>, pads_low = array<i64: 10, 10>, pads_high = array<i64: 10, 10>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<64x64x1x1000xf32>, tensor<2x64x21x21xf32>) -> tensor<64x2x1x1000xf32>
  return %2 : tensor<64x2x1x1000xf32>
}

// Rows of three pixels have no vectors along them: the plain form would go element by element.
// CHECK-LABEL: @narrow(
// CHECK: gantry.conv {{.*}}layout = #gantry<image_layout NHWC>
func.func @narrow(%x: tensor<1x64x8x5xf32>, %w: tensor<10x64x3x3xf32>) -> tensor<1x10x6x3xf32> {
  %0 = gantry.conv %x, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x8x5xf32>, tensor<10x64x3x3xf32>) -> tensor<1x10x6x3xf32>
  return %0 : tensor<1x10x6x3xf32>
}

// A prime number of channels is one panel, whether or not that stays in the cache, also of a group.
// CHECK-LABEL: @prime(
// CHECK: gantry.transpose {{.*}} -> tensor<1x5x5x161x47xf32>
// CHECK: gantry.transpose {{.*}} -> tensor<2x3x3x80x67xf32>
func.func @prime(%x: tensor<1x161x18x19xf32>, %w: tensor<47x161x5x5xf32>, %y: tensor<1x160x18x19xf32>, %v: tensor<134x80x3x3xf32>) -> (tensor<1x47x14x15xf32>, tensor<1x134x16x17xf32>) {
  %0 = gantry.conv %x, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x161x18x19xf32>, tensor<47x161x5x5xf32>) -> tensor<1x47x14x15xf32>
  %1 = gantry.conv %y, %v {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 2 : i64} : (tensor<1x160x18x19xf32>, tensor<134x80x3x3xf32>) -> tensor<1x134x16x17xf32>
  return %0, %1 : tensor<1x47x14x15xf32>, tensor<1x134x16x17xf32>
}

// Images that come and go with the channels last need no reorder, so that little work is enough.
// CHECK-LABEL: @already(
// CHECK-SAME: %[[X:.*]]: tensor<1x14x14x384xf32>
// CHECK: %[[C:.*]] = gantry.conv %[[X]], {{.*}}layout = #gantry<image_layout NHWC>
// CHECK-NEXT: return %[[C]]
func.func @already(%x: tensor<1x14x14x384xf32>, %w: tensor<384x1x3x3xf32>) -> tensor<1x14x14x384xf32> {
  %0 = gantry.transpose %x {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x14x14x384xf32>) -> tensor<1x384x14x14xf32>
  %1 = gantry.conv %0, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 384 : i64} : (tensor<1x384x14x14xf32>, tensor<384x1x3x3xf32>) -> tensor<1x384x14x14xf32>
  %2 = gantry.transpose %1 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x384x14x14xf32>) -> tensor<1x14x14x384xf32>
  return %2 : tensor<1x14x14x384xf32>
}

// Reorders would cost more than this gains.
// CHECK-LABEL: @small(
// CHECK-NOT: channels_last
// CHECK: return
func.func @small(%x: tensor<1x8x8x8xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32> {
  %0 = gantry.conv %x, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  return %0 : tensor<1x8x8x8xf32>
}

// A transposed convolution whose window is a multiple of its strides is a convolution: each pixel of
// that has a block of 2x2 pixels as its channels, four blocks are added up, the filter is read
// backwards, and the pads are cut off.
// CHECK-LABEL: @transposed(
// CHECK-DAG: %[[WB:.*]] = gantry.slice %{{.*}} {sizes = array<i64: 128, 64, 2, 2>, starts = array<i64: 0, 0, 1, 1>, steps = array<i64: 1, 1, -1, -1>}
// CHECK: %[[C:.*]] = gantry.conv {{.*}}groups = 1 : i64, layout = #gantry<image_layout NHWC>, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>{{.*}}-> tensor<1x29x29x128xf32>
// CHECK: %[[S:.*]] = gantry.reshape %[[C]] {{.*}} -> tensor<1x29x29x2x2x32xf32>
// CHECK: %[[P:.*]] = gantry.transpose %[[S]] {{.*}}permutation = array<i64: 0, 1, 3, 2, 4, 5>
// CHECK: %[[I:.*]] = gantry.reshape %[[P]] {{.*}} -> tensor<1x58x58x32xf32>
// CHECK: gantry.slice %[[I]] {{.*}}sizes = array<i64: 1, 56, 56, 32>, starts = array<i64: 0, 1, 1, 0>
func.func @transposed(%x: tensor<1x64x28x28xf32>, %w: tensor<64x32x4x4xf32>) -> tensor<1x32x56x56xf32> {
  %0 = gantry.conv_transpose %x, %w {strides = array<i64: 2, 2>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, output_pads = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x64x28x28xf32>, tensor<64x32x4x4xf32>) -> tensor<1x32x56x56xf32>
  return %0 : tensor<1x32x56x56xf32>
}

// With another window some channels would have terms that are not there. It stays what it is, and its
// filter is packed as it stands.
// CHECK-LABEL: @uneven(
// CHECK-SAME: %[[X:.*]]: tensor<1x64x28x28xf32>, %[[W:.*]]: tensor<64x32x3x3xf32>
// CHECK-DAG: %[[XL:.*]] = gantry.transpose %[[X]] {{.*}}permutation = array<i64: 0, 2, 3, 1>
// CHECK-DAG: %[[WS:.*]] = gantry.reshape %[[W]] : {{.*}} -> tensor<64x1x32x3x3xf32>
// CHECK-DAG: %[[WP:.*]] = gantry.transpose %[[WS]] {{.*}} -> tensor<1x3x3x64x32xf32>
// CHECK: %[[Y:.*]] = gantry.conv_transpose %[[XL]], %[[WP]] {{.*}}strides = array<i64: 2, 2>{{.*}} -> tensor<1x57x57x32xf32>
// CHECK: gantry.transpose %[[Y]] {{.*}}permutation = array<i64: 0, 3, 1, 2>
func.func @uneven(%x: tensor<1x64x28x28xf32>, %w: tensor<64x32x3x3xf32>) -> tensor<1x32x57x57xf32> {
  %0 = gantry.conv_transpose %x, %w {strides = array<i64: 2, 2>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, output_pads = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x64x28x28xf32>, tensor<64x32x3x3xf32>) -> tensor<1x32x57x57xf32>
  return %0 : tensor<1x32x57x57xf32>
}

// Where the pads cut more than the window reaches over the ends, an image without pixels is not one
// with its borders.
// CHECK-LABEL: @cut(
// CHECK: gantry.conv_transpose %{{.*}} -> tensor<1x32x27x27xf32>
func.func @cut(%x: tensor<1x64x16x16xf32>, %w: tensor<64x32x1x1xf32>) -> tensor<1x32x27x27xf32> {
  %0 = gantry.conv_transpose %x, %w {strides = array<i64: 2, 2>, pads_low = array<i64: 2, 2>, pads_high = array<i64: 2, 2>, dilations = array<i64: 1, 1>, output_pads = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x64x16x16xf32>, tensor<64x32x1x1xf32>) -> tensor<1x32x27x27xf32>
  return %0 : tensor<1x32x27x27xf32>
}

// Without strides a transposed convolution is one with the filter turned round, and the border is what
// the window reaches over the ends. A filter that is known is turned here.
// CHECK-LABEL: @turned(
// CHECK: gantry.conv {{.*}}layout = #gantry<image_layout NHWC>, pads_high = array<i64: 5>, pads_low = array<i64: 3>{{.*}}-> tensor<8x132x32xf32>
func.func @turned(%x: tensor<8x64x128xf32>) -> tensor<8x32x132xf32> {
  %w = gantry.constant dense<1.0> : tensor<64x32x5xf32>
  %0 = gantry.conv_transpose %x, %w {strides = array<i64: 1>, pads_low = array<i64: 1>, pads_high = array<i64: 0>, dilations = array<i64: 1>, output_pads = array<i64: 1>, groups = 1 : i64} : (tensor<8x64x128xf32>, tensor<64x32x5xf32>) -> tensor<8x32x132xf32>
  return %0 : tensor<8x32x132xf32>
}

// Else its kernel reads the filter backwards, and nobody turns it.
// CHECK-LABEL: @computed(
// CHECK-NOT: gantry.slice
// CHECK: gantry.conv_transpose {{.*}} -> tensor<8x132x32xf32>
func.func @computed(%x: tensor<8x64x128xf32>, %w: tensor<64x32x5xf32>) -> tensor<8x32x132xf32> {
  %0 = gantry.conv_transpose %x, %w {strides = array<i64: 1>, pads_low = array<i64: 1>, pads_high = array<i64: 0>, dilations = array<i64: 1>, output_pads = array<i64: 1>, groups = 1 : i64} : (tensor<8x64x128xf32>, tensor<64x32x5xf32>) -> tensor<8x32x132xf32>
  return %0 : tensor<8x32x132xf32>
}

// The way back of a convolution and a pool. Places of maxima take the channels as one more dimension, with
// windows of one; what is spread to them follows, and the bias gets the sum over what lies in front of
// the channels. The filter gets a convolution of images and channels in each other's place, whose kernel puts
// both operands in that order.
// CHECK-LABEL: @back(
// CHECK: %[[Y:.*]] = gantry.conv {{.*}}layout = #gantry<image_layout NHWC>{{.*}}-> tensor<8x128x64xf32>
// CHECK: %[[YR:.*]] = gantry.reshape %[[Y]] : (tensor<8x128x64xf32>) -> tensor<8x1x128x64xf32>
// CHECK: %[[I:.*]] = gantry.max_pool_index %[[YR]] {dilations = array<i64: 1, 1>, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 2, 1>, window = array<i64: 2, 1>} : (tensor<8x1x128x64xf32>) -> tensor<8x1x64x64xui8>
// CHECK: %[[S:.*]] = gantry.pool_spread %{{.*}}, %[[I]] {{.*}}sizes = array<i64: 128, 64>{{.*}}-> tensor<8x1x128x64xf32>
// CHECK: %[[D:.*]] = gantry.reshape %[[S]] : (tensor<8x1x128x64xf32>) -> tensor<8x128x64xf32>
// CHECK-DAG: %[[X:.*]] = gantry.transpose %{{.*}} {gantry.by_rows, permutation = array<i64: 2, 1, 0>} : (tensor<8x130x32xf32>) -> tensor<32x130x8xf32>
// CHECK-DAG: %[[R:.*]] = gantry.reshape %[[S]] : (tensor<8x1x128x64xf32>) -> tensor<1x8x128x64xf32>
// CHECK-DAG: %[[P:.*]] = gantry.transpose %[[R]] {gantry.by_rows, permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x8x128x64xf32>) -> tensor<1x128x8x64xf32>
// CHECK: gantry.conv %[[X]], %[[P]] {{.*}}layout = #gantry<image_layout NHWC>{{.*}}-> tensor<32x3x64xf32>
// CHECK: gantry.reduce_sum %[[D]] {axes = array<i64: 0, 1>} : (tensor<8x128x64xf32>) -> tensor<64xf32>
func.func @back(%x: tensor<8x32x130xf32>, %w: tensor<64x32x3xf32>, %d: tensor<8x64x64xf32>) -> (tensor<64x32x3xf32>, tensor<64xf32>) {
  %y = gantry.conv %x, %w {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<8x32x130xf32>, tensor<64x32x3xf32>) -> tensor<8x64x128xf32>
  %i = gantry.max_pool_index %y {window = array<i64: 2>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>} : (tensor<8x64x128xf32>) -> tensor<8x64x64xui8>
  %s = gantry.pool_spread %d, %i {window = array<i64: 2>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, sizes = array<i64: 128>} : (tensor<8x64x64xf32>, tensor<8x64x64xui8>) -> tensor<8x64x128xf32>
  %f = gantry.conv_filter_grad %x, %s {window = array<i64: 3>, strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<8x32x130xf32>, tensor<8x64x128xf32>) -> tensor<64x32x3xf32>
  %b = gantry.reduce_sum %s {axes = array<i64: 0, 2>} : (tensor<8x64x128xf32>) -> tensor<64xf32>
  return %f, %b : tensor<64x32x3xf32>, tensor<64xf32>
}

// A stride is a dilation there; what the last place does not reach of the image is cut off.
// CHECK-LABEL: @strided_filter(
// CHECK: %[[X:.*]] = gantry.transpose %{{.*}} {permutation = array<i64: 0, 2, 1>} : (tensor<8x32x130xf32>)
// CHECK: %[[R:.*]] = gantry.slice %[[X]] {gantry.by_rows, sizes = array<i64: 8, 129, 32>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>}
// CHECK: %[[T:.*]] = gantry.transpose %[[R]] {gantry.by_rows, permutation = array<i64: 2, 1, 0>}
// CHECK: %[[F:.*]] = gantry.conv %[[T]], {{.*}}dilations = array<i64: 2>, groups = 1 : i64, layout = #gantry<image_layout NHWC>, pads_high = array<i64: 0>, pads_low = array<i64: 0>, strides = array<i64: 1>} {{.*}}-> tensor<32x3x64xf32>
// CHECK-NEXT: gantry.transpose %[[F]] {permutation = array<i64: 2, 0, 1>}
func.func @strided_filter(%x: tensor<8x32x130xf32>, %d: tensor<8x64x64xf32>) -> tensor<64x32x3xf32> {
  %f = gantry.conv_filter_grad %x, %d {window = array<i64: 3>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<8x32x130xf32>, tensor<8x64x64xf32>) -> tensor<64x32x3xf32>
  return %f : tensor<64x32x3xf32>
}

// A border is made in front of all places of the window, and the forward pass's order is read as it is.
// CHECK-LABEL: @filter_with_border(
// CHECK: %[[X:.*]] = gantry.transpose %{{.*}} {permutation = array<i64: 0, 2, 3, 1>} : (tensor<8x64x14x14xf32>)
// CHECK: %[[P:.*]] = gantry.pad %[[X]], %{{.*}} {high = array<i64: 0, 1, 1, 0>, low = array<i64: 0, 1, 1, 0>, mode = #gantry<pad_mode constant>}
// CHECK: gantry.transpose %[[P]] {gantry.by_rows, permutation = array<i64: 3, 1, 2, 0>}
// CHECK: gantry.conv {{.*}}pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>{{.*}}(tensor<64x16x16x8xf32>, tensor<1x14x14x8x80xf32>) -> tensor<64x3x3x80xf32>
func.func @filter_with_border(%x: tensor<8x64x14x14xf32>, %d: tensor<8x80x14x14xf32>) -> tensor<80x64x3x3xf32> {
  %f = gantry.conv_filter_grad %x, %d {window = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x64x14x14xf32>, tensor<8x80x14x14xf32>) -> tensor<80x64x3x3xf32>
  return %f : tensor<80x64x3x3xf32>
}

// The largest of all elements is the same in any order, and what lies the same in both forms follows its reader.
// CHECK-LABEL: @range(
// CHECK: %[[C:.*]] = gantry.conv {{.*}}layout = #gantry<image_layout NHWC>{{.*}} -> tensor<1x56x56x64xf32>
// CHECK: %[[P:.*]] = gantry.reshape %{{.*}} : (tensor<1x1x56x56xf32>) -> tensor<1x56x56x1xf32>
// CHECK: %[[M:.*]] = gantry.mul %[[P]], %{{.*}} -> tensor<1x56x56x64xf32>
// CHECK: %[[S:.*]] = gantry.sub %[[C]], %[[M]]
// CHECK-DAG: gantry.reduce_max %[[S]] {axes = array<i64: 0, 1, 2, 3>} : (tensor<1x56x56x64xf32>) -> tensor<f32>
// CHECK-DAG: gantry.reduce_min %[[S]] {axes = array<i64: 0, 1, 2, 3>} : (tensor<1x56x56x64xf32>) -> tensor<f32>
// CHECK-NOT: channels_first
// CHECK: return
func.func @range(%x: tensor<1x64x56x56xf32>, %w: tensor<64x64x3x3xf32>, %p: tensor<1x1x56x56xf32>) -> (tensor<f32>, tensor<f32>) {
  %m = gantry.constant dense<2.0> : tensor<64x1x1xf32>
  %0 = gantry.conv %x, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
  %1 = gantry.mul %p, %m : (tensor<1x1x56x56xf32>, tensor<64x1x1xf32>) -> tensor<1x64x56x56xf32>
  %2 = gantry.sub %0, %1 : (tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32>
  %3 = gantry.reduce_max %2 {axes = array<i64: 0, 1, 2, 3>} : (tensor<1x64x56x56xf32>) -> tensor<f32>
  %4 = gantry.reduce_min %2 {axes = array<i64: 0, 1, 2, 3>} : (tensor<1x64x56x56xf32>) -> tensor<f32>
  return %3, %4 : tensor<f32>, tensor<f32>
}

// The means of a batch norm leave the channels; dimensions that stay come back by a view.
// CHECK-LABEL: @channel_means(
// CHECK: %[[Y:.*]] = gantry.conv {{.*}}layout = #gantry<image_layout NHWC>{{.*}}-> tensor<4x56x56x64xf32>
// CHECK: %[[M:.*]] = gantry.reduce_mean %[[Y]] {axes = array<i64: 0, 1, 2>} : (tensor<4x56x56x64xf32>) -> tensor<64xf32>
// CHECK-DAG: gantry.reshape %[[M]] : (tensor<64xf32>) -> tensor<1x64x1x1xf32>
// CHECK-DAG: gantry.reduce_sum %[[Y]] {axes = array<i64: 0, 1, 2>} : (tensor<4x56x56x64xf32>) -> tensor<64xf32>
// CHECK-NOT: channels_first
// CHECK: return
func.func @channel_means(%x: tensor<4x64x56x56xf32>, %w: tensor<64x64x3x3xf32>) -> (tensor<1x64x1x1xf32>, tensor<64xf32>) {
  %y = gantry.conv %x, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<4x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<4x64x56x56xf32>
  %m = gantry.reduce_mean %y {axes = array<i64: 0, 2, 3>, keep_dims} : (tensor<4x64x56x56xf32>) -> tensor<1x64x1x1xf32>
  %n = gantry.reduce_sum %y {axes = array<i64: 0, 2, 3>} : (tensor<4x64x56x56xf32>) -> tensor<64xf32>
  return %m, %n : tensor<1x64x1x1xf32>, tensor<64xf32>
}

// Sums depend on their order.
// CHECK-LABEL: @total(
// CHECK: gantry.reduce_sum %{{.*}} : (tensor<1x64x56x56xf32>) -> tensor<f32>
func.func @total(%x: tensor<1x64x56x56xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<f32> {
  %0 = gantry.conv %x, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
  %1 = gantry.reduce_sum %0 {axes = array<i64: 0, 1, 2, 3>} : (tensor<1x64x56x56xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// Of f16 and bf16 it is computed in f32, which changes no bit; who reads the result goes on in f16.
// CHECK-LABEL: @halves(
// CHECK-SAME: %[[X:.*]]: tensor<1x64x56x56xf16>, %[[W:.*]]: tensor<64x64x3x3xf16>
// CHECK-DAG: gantry.cast %[[X]] : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf32>
// CHECK-DAG: gantry.cast %[[W]] : (tensor<64x64x3x3xf16>) -> tensor<64x64x3x3xf32>
// CHECK: %[[C:.*]] = gantry.conv {{.*}}layout = #gantry<image_layout NHWC>{{.*}} -> tensor<1x56x56x64xf32>
// CHECK: %[[S:.*]] = gantry.cast %[[C]] : (tensor<1x56x56x64xf32>) -> tensor<1x56x56x64xf16>
// CHECK: gantry.relu %[[S]] : (tensor<1x56x56x64xf16>) -> tensor<1x56x56x64xf16>
func.func @halves(%x: tensor<1x64x56x56xf16>, %w: tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16> {
  %0 = gantry.conv %x, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
  %1 = gantry.relu %0 : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
  return %1 : tensor<1x64x56x56xf16>
}

// Its borders of zeros go into it nevertheless.
// CHECK-LABEL: @border_of_halves(
// CHECK-SAME: %[[X:.*]]: tensor<1x64x56x56xf16>
// CHECK-NOT: gantry.pad
// CHECK: %[[N:.*]] = gantry.cast %[[X]] : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf32>
// CHECK: %[[L:.*]] = gantry.transpose %[[N]] {{.*}} -> tensor<1x56x56x64xf32>
// CHECK: gantry.conv %[[L]], {{.*}}pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>
// CHECK: return
func.func @border_of_halves(%x: tensor<1x64x56x56xf16>, %w: tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16> {
  %zero = gantry.constant dense<0.0> : tensor<f16>
  %p = gantry.pad %x, %zero {mode = #gantry<pad_mode constant>, low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>} : (tensor<1x64x56x56xf16>, tensor<f16>) -> tensor<1x64x58x58xf16>
  %0 = gantry.conv %p, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x58x58xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
  return %0 : tensor<1x64x56x56xf16>
}

// Others do not.
// CHECK-LABEL: @other_border(
// CHECK: %[[P:.*]] = gantry.pad {{.*}} -> tensor<1x64x58x58xf16>
// CHECK: gantry.cast %[[P]] : (tensor<1x64x58x58xf16>) -> tensor<1x64x58x58xf32>
// CHECK: gantry.conv {{.*}}pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>
func.func @other_border(%x: tensor<1x64x56x56xf16>, %w: tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16> {
  %one = gantry.constant dense<1.0> : tensor<f16>
  %p = gantry.pad %x, %one {mode = #gantry<pad_mode constant>, low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>} : (tensor<1x64x56x56xf16>, tensor<f16>) -> tensor<1x64x58x58xf16>
  %0 = gantry.conv %p, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x58x58xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
  return %0 : tensor<1x64x56x56xf16>
}

// One channel would leave fifteen lanes of a register unused: vectors go along the image, which is put in order for that.
// CHECK-LABEL: @few_columns(
// CHECK-SAME: %[[V:[a-z0-9]*]]: tensor<1x32x5x5xf32>, %{{[a-z0-9]*}}: tensor<8x32x5x5xf32>)
// CHECK: %[[C:.*]] = gantry.conv {{.*}}layout = #gantry<image_layout NHWC>{{.*}} -> tensor<1x94x94x32xf32>
// CHECK: %[[P:.*]] = gantry.transpose %[[C]] {permutation = array<i64: 0, 3, 1, 2>}
// CHECK: %[[Y:.*]] = gantry.conv %[[P]], %[[V]] {{.*}} -> tensor<1x1x90x90xf32>
// CHECK: gantry.conv %[[C]], {{.*}}layout = #gantry<image_layout NHWC>{{.*}} -> tensor<1x90x90x8xf32>
// CHECK: return %[[Y]]
func.func @few_columns(%x: tensor<1x16x96x96xf32>, %w: tensor<32x16x3x3xf32>, %v: tensor<1x32x5x5xf32>, %u: tensor<8x32x5x5xf32>) -> (tensor<1x1x90x90xf32>, tensor<1x8x90x90xf32>) {
  %0 = gantry.conv %x, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x96x96xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x94x94xf32>
  %1 = gantry.conv %0, %v {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x32x94x94xf32>, tensor<1x32x5x5xf32>) -> tensor<1x1x90x90xf32>
  %2 = gantry.conv %0, %u {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x32x94x94xf32>, tensor<8x32x5x5xf32>) -> tensor<1x8x90x90xf32>
  return %1, %2 : tensor<1x1x90x90xf32>, tensor<1x8x90x90xf32>
}
