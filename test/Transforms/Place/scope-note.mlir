// The note of P4: at the scope that asked.
// RUN: not gantry-opt %s --gantry-resolve-scopes --gantry-assign-devices 2>&1 | FileCheck %s --match-full-lines

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {
  func.func @p4_scope(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
    // CHECK: {{.*}}scope-note.mlir:[[#@LINE+2]]:12: error: 'MatMul' is placed on '/job:localhost/replica:0/task:0/device:GPU:2': unknown device; the devices are /job:localhost/replica:0/task:0/device:CPU:0, /job:localhost/replica:0/task:0/device:GPU:0, /job:localhost/replica:0/task:0/device:GPU:1
    %y = gantry.on "GPU:2" -> (tensor<2x2xf32>) {
      %0 = gantry.matmul %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      gantry.yield %0 : tensor<2x2xf32>
    }
    // CHECK: {{.*}}scope-note.mlir:[[#@LINE-4]]:10: note: asked for here
    return %y : tensor<2x2xf32>
  }
}
