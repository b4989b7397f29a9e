// RUN: gantry-opt %s --gantry-decompose-ops | FileCheck %s

// A split is a slice for each piece, with the split's request and name.
// CHECK-LABEL: @split(
// CHECK-SAME: %[[X:.*]]: tensor<2x6xf32>
// CHECK: %[[A:.*]] = gantry.slice %[[X]] {gantry.device = #gantry.device<"GPU:0">, gantry.name = "s", sizes = array<i64: 2, 2>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>}
// CHECK: %[[B:.*]] = gantry.slice %[[X]] {gantry.device = #gantry.device<"GPU:0">, gantry.name = "s", sizes = array<i64: 2, 4>, starts = array<i64: 0, 2>, steps = array<i64: 1, 1>}
// CHECK: return %[[A]], %[[B]]
func.func @split(%x: tensor<2x6xf32>) -> (tensor<2x2xf32>, tensor<2x4xf32>) {
  %a, %b = gantry.split %x {axis = 1 : i64, sizes = array<i64: 2, 4>, gantry.device = #gantry.device<"GPU:0">, gantry.name = "s"} : (tensor<2x6xf32>) -> (tensor<2x2xf32>, tensor<2x4xf32>)
  return %a, %b : tensor<2x2xf32>, tensor<2x4xf32>
}

// Many pieces are cut from groups of them, with the request and name of the whole, so that kernels of
// the pieces at the same place of a group are the same.
// CHECK-LABEL: @split_of_66(
// CHECK-SAME: %[[X:.*]]: tensor<66x2xf32>
// CHECK: %[[A:.*]] = gantry.slice %[[X]] {gantry.device = #gantry.device<"GPU:0">, gantry.name = "s", sizes = array<i64: 64, 2>, starts = array<i64: 0, 0>, {{.*}} -> tensor<64x2xf32>
// CHECK: %[[B:.*]] = gantry.slice %[[X]] {gantry.device = #gantry.device<"GPU:0">, gantry.name = "s", sizes = array<i64: 2, 2>, starts = array<i64: 64, 0>, {{.*}} -> tensor<2x2xf32>
// CHECK: %[[FIRST:.*]] = gantry.slice %[[A]] {gantry.device = #gantry.device<"GPU:0">, gantry.name = "s", sizes = array<i64: 1, 2>, starts = array<i64: 0, 0>
// CHECK: %[[LAST:.*]] = gantry.slice %[[B]] {{.*}} starts = array<i64: 1, 0>
// CHECK: return %[[FIRST]], %[[LAST]]
func.func @split_of_66(%x: tensor<66x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %0:66 = gantry.split %x {axis = 0 : i64, sizes = array<i64: 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1>, gantry.device = #gantry.device<"GPU:0">, gantry.name = "s"} : (tensor<66x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>)
  return %0#0, %0#65 : tensor<1x2xf32>, tensor<1x2xf32>
}

// The border of a convolution is a value of its own, named after it; the convolution keeps a mark of it.
// CHECK-LABEL: @conv(
// CHECK-SAME: %[[X:.*]]: tensor<1x3x8xf32>
// CHECK: %[[Z:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[P:.*]] = gantry.pad %[[X]], %[[Z]] {gantry.device = #gantry.device<"GPU:0">, gantry.name = "c/pad", high = array<i64: 0, 0, 2>, low = array<i64: 0, 0, 1>, mode = #gantry<pad_mode constant>}
// CHECK: gantry.conv %[[P]], %{{.*}} {border = #gantry<border plus_zero>, {{.*}}pads_high = array<i64: 0>, pads_low = array<i64: 0>
func.func @conv(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) -> tensor<1x4x9xf32> {
  %y = gantry.conv %x, %w {strides = array<i64: 1>, pads_low = array<i64: 1>, pads_high = array<i64: 2>, dilations = array<i64: 1>, groups = 1 : i64, gantry.device = #gantry.device<"GPU:0">, gantry.name = "c"} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x9xf32>
  return %y : tensor<1x4x9xf32>
}

// Integers get an integer zero, unsigned ones too.
// CHECK-LABEL: @integer_conv(
// CHECK: gantry.constant dense<0> : tensor<ui8>
// CHECK: gantry.pad
// CHECK-NOT: plus_zero
// CHECK: return
func.func @integer_conv(%x: tensor<1x3x8xui8>, %w: tensor<4x3x3xui8>) -> tensor<1x4x8xi32> {
  %y = gantry.conv %x, %w {strides = array<i64: 1>, pads_low = array<i64: 1>, pads_high = array<i64: 1>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x3x8xui8>, tensor<4x3x3xui8>) -> tensor<1x4x8xi32>
  return %y : tensor<1x4x8xi32>
}

// Without a border nothing is added.
// CHECK-LABEL: @conv_without_border(
// CHECK-NOT: gantry.pad
// CHECK-NOT: plus_zero
// CHECK: gantry.conv
func.func @conv_without_border(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) -> tensor<1x4x6xf32> {
  %y = gantry.conv %x, %w {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x6xf32>
  return %y : tensor<1x4x6xf32>
}

// Nothing to compute: an empty value, where it was asked for.
// CHECK-LABEL: @p1_empty(
// CHECK: %[[A:.*]] = gantry.constant {gantry.device = #gantry.device<"GPU:1">} dense<> : tensor<0x4xf32>
// CHECK: %[[B:.*]] = gantry.constant dense<> : tensor<0x4xf32>
// CHECK: return %[[A]], %[[B]]
func.func @p1_empty(%x: tensor<0x4xf32>) -> (tensor<0x4xf32>, tensor<0x4xf32>) {
  %0 = gantry.relu %x {gantry.device = #gantry.device<"GPU:1">, gantry.name = "r"} : (tensor<0x4xf32>) -> tensor<0x4xf32>
  %1 = gantry.relu %x : (tensor<0x4xf32>) -> tensor<0x4xf32>
  return %0, %1 : tensor<0x4xf32>, tensor<0x4xf32>
}

// An operand without elements becomes a constant, which goes into the kernel: none takes a buffer of no
// bytes, and nothing is copied.
// CHECK-LABEL: @reads_nothing(
// CHECK: %[[A:.*]] = gantry.constant dense<> : tensor<2x0xf32>
// CHECK: %[[B:.*]] = gantry.constant dense<> : tensor<0x3xf32>
// CHECK: gantry.matmul %[[A]], %[[B]] {gantry.device = #gantry.device<"GPU:1">}
func.func @reads_nothing(%a: tensor<2x0xf32>, %b: tensor<0x3xf32>) -> tensor<2x3xf32> {
  %0 = gantry.matmul %a, %b {gantry.device = #gantry.device<"GPU:1">} : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// Nor do replicas exchange anything of it.
// CHECK-LABEL: @exchanges_nothing(
// CHECK-SAME: %[[X:.*]]: tensor<0x4xf32>, %[[Y:.*]]: tensor<0x4xf32>)
// CHECK-NEXT: return %[[X]], %[[Y]]
func.func @exchanges_nothing(%x: tensor<0x4xf32>, %y: tensor<0x4xf32>) -> (tensor<0x4xf32>, tensor<0x4xf32>) {
  %0:2 = gantry.all_reduce sum %x, %y on ["GPU:0", "GPU:1"] : (tensor<0x4xf32>, tensor<0x4xf32>) -> (tensor<0x4xf32>, tensor<0x4xf32>)
  return %0#0, %0#1 : tensor<0x4xf32>, tensor<0x4xf32>
}

// Many pieces are joined in groups, with the request and name of the whole: 64 and the rest.
// CHECK-LABEL: @concat_of_66(
// CHECK-SAME: %[[X:.*]]: tensor<1x2xf32>
// CHECK: %[[A:.*]] = gantry.concat {{.*}} {axis = 0 : i64, gantry.device = #gantry.device<"GPU:0">, gantry.name = "j"} : {{.*}} -> tensor<64x2xf32>
// CHECK: %[[B:.*]] = gantry.concat %[[X]], %[[X]] {axis = 0 : i64, gantry.device = #gantry.device<"GPU:0">, gantry.name = "j"} : {{.*}} -> tensor<2x2xf32>
// CHECK: gantry.concat %[[A]], %[[B]] {axis = 0 : i64, gantry.device = #gantry.device<"GPU:0">, gantry.name = "j"} : {{.*}} -> tensor<66x2xf32>
func.func @concat_of_66(%x: tensor<1x2xf32>) -> tensor<66x2xf32> {
  %0 = gantry.concat %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x {axis = 0 : i64, gantry.device = #gantry.device<"GPU:0">, gantry.name = "j"} : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<66x2xf32>
  return %0 : tensor<66x2xf32>
}

// Many values are added in groups, each to the sum of those before: 64, then 63 more, and the rest.
// CHECK-LABEL: @add_130(
// CHECK-SAME: %[[X:.*]]: tensor<2xf32>, %[[Y:.*]]: tensor<2xf32>, %[[Z:.*]]: tensor<2xf32>)
// CHECK-NEXT: %[[A:.*]] = gantry.add_n %[[X]], {{((%[a-z0-9]+, ){62})}}%[[X]] {gantry.device = #gantry.device<"GPU:0">, gantry.name = "s", gantry.part = 0 : i64}
// CHECK-NEXT: %[[B:.*]] = gantry.add_n %[[A]], %[[Y]], {{((%[a-z0-9]+, ){61})}}%[[Y]] {gantry.device = #gantry.device<"GPU:0">, gantry.name = "s", gantry.part = 1 : i64}
// CHECK-NEXT: %[[C:.*]] = gantry.add_n %[[B]], %[[Z]], %[[Z]], %[[Z]] {gantry.device = #gantry.device<"GPU:0">, gantry.name = "s"}
// CHECK-NEXT: return %[[C]]
func.func @add_130(%x: tensor<2xf32>, %y: tensor<2xf32>, %z: tensor<2xf32>) -> tensor<2xf32> {
  %0 = gantry.add_n %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %z, %z, %z {gantry.device = #gantry.device<"GPU:0">, gantry.name = "s"} : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// A narrow sum is rounded once: its groups are added as f32, and are smaller, since the casts go with them.
// CHECK-LABEL: @add_130_narrow(
// CHECK: %[[A:.*]] = gantry.add_n {{((%[a-z0-9]+(, )?){30})}} {gantry.part = 0 : i64} : {{.*}} -> tensor<2xf32>
// CHECK: gantry.add_n %[[A]], {{((%[a-z0-9]+(, )?){29})}} {gantry.part = 1 : i64}
// CHECK: gantry.add_n {{.*}} {gantry.part = 3 : i64}
// CHECK: %[[S:.*]] = gantry.add_n {{[^{]*}} : {{.*}} -> tensor<2xf32>
// CHECK-NEXT: %[[R:.*]] = gantry.cast %[[S]] : (tensor<2xf32>) -> tensor<2xbf16>
// CHECK-NEXT: return %[[R]]
func.func @add_130_narrow(%x: tensor<2xbf16>, %y: tensor<2xbf16>, %z: tensor<2xbf16>) -> tensor<2xbf16> {
  %0 = gantry.add_n %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %z, %z, %z : (tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xbf16>
  return %0 : tensor<2xbf16>
}

// A transpose that moves sides of one element alone moves nothing; its name stays.
// CHECK-LABEL: @transpose_of_nothing(
// CHECK-SAME: %[[X:.*]]: tensor<1x197x768xf32>
// CHECK: %[[Y:.*]] = gantry.reshape %[[X]] {gantry.name = "t", gantry.source_op = "Transpose"} : (tensor<1x197x768xf32>) -> tensor<197x1x768xf32>
// CHECK: return %[[Y]]
func.func @transpose_of_nothing(%x: tensor<1x197x768xf32>) -> tensor<197x1x768xf32> {
  %y = gantry.transpose %x {permutation = array<i64: 1, 0, 2>, gantry.name = "t", gantry.source_op = "Transpose"} : (tensor<1x197x768xf32>) -> tensor<197x1x768xf32>
  return %y : tensor<197x1x768xf32>
}

// It stays where somebody asks for a device, and where other sides change places.
// CHECK-LABEL: @transposes(
// CHECK: gantry.transpose {{.*}}gantry.device = #gantry.device<"GPU:0">
// CHECK: gantry.transpose {{.*}}permutation = array<i64: 2, 0, 1>
// CHECK-NOT: gantry.reshape
func.func @transposes(%x: tensor<1x4x8xf32>) -> (tensor<4x1x8xf32>, tensor<8x1x4xf32>) {
  %y = gantry.transpose %x {permutation = array<i64: 1, 0, 2>, gantry.device = #gantry.device<"GPU:0">} : (tensor<1x4x8xf32>) -> tensor<4x1x8xf32>
  %z = gantry.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<1x4x8xf32>) -> tensor<8x1x4xf32>
  return %y, %z : tensor<4x1x8xf32>, tensor<8x1x4xf32>
}

// A part in another shape is a part of the whole in that shape.
// CHECK-LABEL: @heads_of_a_part(
// CHECK-SAME: %[[X:.*]]: tensor<197x1x2304xf32>
// CHECK: %[[HEADS:.*]] = gantry.reshape %[[X]] {gantry.name = "r"} : (tensor<197x1x2304xf32>) -> tensor<197x36x64xf32>
// CHECK: %[[PART:.*]] = gantry.slice %[[HEADS]] {gantry.name = "s", sizes = array<i64: 197, 12, 64>, starts = array<i64: 0, 24, 0>, steps = array<i64: 1, 1, 1>}
// CHECK: return %[[PART]]
func.func @heads_of_a_part(%x: tensor<197x1x2304xf32>) -> tensor<197x12x64xf32> {
  %s = gantry.slice %x {starts = array<i64: 0, 0, 1536>, sizes = array<i64: 197, 1, 768>, steps = array<i64: 1, 1, 1>, gantry.name = "s"} : (tensor<197x1x2304xf32>) -> tensor<197x1x768xf32>
  %r = gantry.reshape %s {gantry.name = "r"} : (tensor<197x1x768xf32>) -> tensor<197x12x64xf32>
  return %r : tensor<197x12x64xf32>
}

// A part of an outer side, whose inner sides are joined.
// CHECK-LABEL: @rows_of_a_part(
// CHECK: %[[ROWS:.*]] = gantry.reshape {{.*}} -> tensor<24xf32>
// CHECK: gantry.slice %[[ROWS]] {sizes = array<i64: 12>, starts = array<i64: 8>, steps = array<i64: 1>}
func.func @rows_of_a_part(%x: tensor<6x4xf32>) -> tensor<12xf32> {
  %s = gantry.slice %x {starts = array<i64: 2, 0>, sizes = array<i64: 3, 4>, steps = array<i64: 1, 1>} : (tensor<6x4xf32>) -> tensor<3x4xf32>
  %r = gantry.reshape %s : (tensor<3x4xf32>) -> tensor<12xf32>
  return %r : tensor<12xf32>
}

// It stays a part first where it begins within a head, is cut twice, has gaps, or is read as it is.
// CHECK-LABEL: @other_parts(
// CHECK-COUNT-4: gantry.slice %arg0
// CHECK-NOT: gantry.slice
func.func @other_parts(%x: tensor<4x24xf32>) -> (tensor<4x2x8xf32>, tensor<2x2x8xf32>, tensor<4x2x6xf32>, tensor<4x2x8xf32>, tensor<4x16xf32>) {
  %a = gantry.slice %x {starts = array<i64: 0, 4>, sizes = array<i64: 4, 16>, steps = array<i64: 1, 1>} : (tensor<4x24xf32>) -> tensor<4x16xf32>
  %b = gantry.slice %x {starts = array<i64: 0, 8>, sizes = array<i64: 2, 16>, steps = array<i64: 1, 1>} : (tensor<4x24xf32>) -> tensor<2x16xf32>
  %c = gantry.slice %x {starts = array<i64: 0, 0>, sizes = array<i64: 4, 12>, steps = array<i64: 1, 2>} : (tensor<4x24xf32>) -> tensor<4x12xf32>
  %d = gantry.slice %x {starts = array<i64: 0, 0>, sizes = array<i64: 4, 16>, steps = array<i64: 1, 1>} : (tensor<4x24xf32>) -> tensor<4x16xf32>
  %ra = gantry.reshape %a : (tensor<4x16xf32>) -> tensor<4x2x8xf32>
  %rb = gantry.reshape %b : (tensor<2x16xf32>) -> tensor<2x2x8xf32>
  %rc = gantry.reshape %c : (tensor<4x12xf32>) -> tensor<4x2x6xf32>
  %rd = gantry.reshape %d : (tensor<4x16xf32>) -> tensor<4x2x8xf32>
  return %ra, %rb, %rc, %rd, %d : tensor<4x2x8xf32>, tensor<2x2x8xf32>, tensor<4x2x6xf32>, tensor<4x2x8xf32>, tensor<4x16xf32>
}
