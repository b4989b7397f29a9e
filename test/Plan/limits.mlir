// A plan that a device has no room for does not compile; the exit status says so.
// RUN: bash -c "gantry compile %s --devices=CPU:0,GPU:0@512 --simulate -o %t.gantry; test \$? = 3" 2>&1 | FileCheck %s
// CHECK: limits.mlir:{{[0-9]+}}:8: the plan needs 1 KiB on '/job:localhost/replica:0/task:0/device:GPU:0', the limit is 512 bytes: constants 512 bytes, {{.*}} raise the limit to at least 1024 bytes
// CHECK: 512 bytes: constant 'w'

// RUN: gantry compile %s --devices=CPU:0,GPU:0@1024 --simulate -o %t.gantry

func.func @main(%x: tensor<128xf32> {gantry.name = "x"}) -> (tensor<128xf32> {gantry.name = "y"}) {
  %w = gantry.constant {gantry.name = "w"} dense<2.0> : tensor<128xf32>
  %0 = gantry.copy %x to "GPU:0" : tensor<128xf32>
  %1 = gantry.add %0, %w {gantry.device = #gantry.device<"GPU:0">} : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
  return %1 : tensor<128xf32>
}
