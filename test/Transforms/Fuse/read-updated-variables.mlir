// What reads the next value of a variable reads it from the variable: the update joins the kernel that makes the value.
// RUN: gantry-opt %s --gantry-read-updated-variables | FileCheck %s

// A moment of an optimizer, and the step of the weight, which reads it.
// CHECK-LABEL: func.func @moment(
// CHECK: %[[M:.*]] = gantry.add
// CHECK-NEXT: %[[N:.*]] = gantry.update %[[M]]
// CHECK-NEXT: %[[S:.*]] = gantry.sub %{{.*}}, %[[N]]
// CHECK-NEXT: %[[W:.*]] = gantry.update %[[S]]
// CHECK-NEXT: return %[[N]], %[[W]]
func.func @moment(%m: tensor<4xf32> {gantry.variable = @m}, %w: tensor<4xf32> {gantry.variable = @w}, %g: tensor<4xf32>)
    -> (tensor<4xf32> {gantry.variable = @m}, tensor<4xf32> {gantry.variable = @w}) {
  %0 = gantry.add %m, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.sub %w, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.update %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = gantry.update %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %3, %2 : tensor<4xf32>, tensor<4xf32>
}

// The old value is read behind: in its place the new one would be too early.
// CHECK-LABEL: func.func @old(
// CHECK: %[[M:.*]] = gantry.add
// CHECK-NEXT: gantry.sub %{{.*}}, %[[M]]
// CHECK-NEXT: gantry.mul
// CHECK-NEXT: gantry.update %[[M]]
func.func @old(%m: tensor<4xf32> {gantry.variable = @m}, %w: tensor<4xf32>, %g: tensor<4xf32>)
    -> (tensor<4xf32> {gantry.variable = @m}, tensor<4xf32>, tensor<4xf32>) {
  %0 = gantry.add %m, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.sub %w, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.mul %1, %m : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = gantry.update %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %3, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// One variable becomes what another one was: nothing makes it.
// CHECK-LABEL: func.func @given(
// CHECK-NEXT: gantry.add
// CHECK-NEXT: gantry.update %arg1
func.func @given(%m: tensor<4xf32> {gantry.variable = @m}, %w: tensor<4xf32>) -> (tensor<4xf32> {gantry.variable = @m}, tensor<4xf32>) {
  %0 = gantry.add %w, %m : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.update %w : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<4xf32>
}
