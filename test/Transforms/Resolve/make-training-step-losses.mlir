// RUN: gantry-opt %s --gantry-make-training-step="loss=scce optimizer=sgd,rate=0.5 trainable=head.*" | FileCheck %s --check-prefixes=CHECK,SCCE
// RUN: gantry-opt %s --gantry-make-training-step="loss=mse optimizer=sgd,rate=0.5 trainable=head.*" | FileCheck %s --check-prefixes=CHECK,MSE

// A named loss compares the only output with labels. Of a softmax its operand is taken. What the graph was predicts.
// CHECK: gantry.variable @head.w
// CHECK-NOT: gantry.variable @body.w
// CHECK-LABEL: func.func @evaluate(
// SCCE-SAME: %{{.*}}: tensor<4x3xf32>, %[[Y:.*]]: tensor<4xi64> {gantry.name = "labels"}) -> (tensor<4x2xf32>, tensor<f32> {gantry.name = "loss"})
// SCCE: gantry.matmul
// SCCE: %[[LOGITS:.*]] = gantry.matmul
// SCCE: %[[P:.*]] = gantry.log_softmax %[[LOGITS]] {axis = 1 : i64, gantry.name = "loss"}
// SCCE: %[[I:.*]] = gantry.reshape %[[Y]] {{.*}} : (tensor<4xi64>) -> tensor<4x1xi64>
// SCCE: gantry.gather_elements %[[P]], %[[I]] {axis = 1 : i64
// MSE-SAME: %{{.*}}: tensor<4x3xf32>, %[[Y:.*]]: tensor<4x2xf32> {gantry.name = "labels"}) -> (tensor<4x2xf32>, tensor<f32> {gantry.name = "loss"})
// MSE: %[[P:.*]] = gantry.softmax
// MSE: %[[E:.*]] = gantry.sub %[[P]], %[[Y]]
// MSE: gantry.mul %[[E]], %[[E]]
// CHECK-LABEL: func.func @step(
// CHECK-SAME: -> (tensor<f32> {gantry.name = "loss"})
// CHECK: gantry.gradient(%{{.*}}) : (tensor<5x2xf32>) -> (tensor<f32>, tensor<5x2xf32>)
// CHECK-LABEL: func.func @predict(%{{.*}}: tensor<4x3xf32>) -> tensor<4x2xf32>
// CHECK: gantry.read @head.w
func.func @main(%x: tensor<4x3xf32>) -> tensor<4x2xf32> {
  %w = gantry.constant {gantry.name = "body.w"} dense<0.5> : tensor<3x5xf32>
  %v = gantry.constant {gantry.name = "head.w"} dense<0.5> : tensor<5x2xf32>
  %0 = gantry.matmul %x, %w : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %1 = gantry.matmul %0, %v : (tensor<4x5xf32>, tensor<5x2xf32>) -> tensor<4x2xf32>
  %2 = gantry.softmax %1 {axis = 1 : i64} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}
