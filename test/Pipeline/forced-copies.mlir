// Each forced copy that is read is made (spec X1), the other two are one.
// RUN: gantry run %s --devices=CPU:0,GPU:0,GPU:1 --simulate --fill ramp --log-device-placement 2>&1 | FileCheck %s

// CHECK: placed 1 op: GPU:1 1; 0 fall-backs; 4 copies per run{{.*}}, 64 bytes (h2d 3, d2h 1); 0 at load
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.copy %x to "GPU:1" force : tensor<4xf32>
  %1 = gantry.copy %x to "GPU:1" force : tensor<4xf32>
  %unread = gantry.copy %x to "GPU:1" force : tensor<4xf32>
  %2 = gantry.copy %x to "GPU:1" : tensor<4xf32>
  %3 = gantry.copy %x to "GPU:1" : tensor<4xf32>
  %sum = gantry.add_n %0, %1, %2, %3 {gantry.device = #gantry.device<"GPU:1">} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %sum : tensor<4xf32>
}
