// The placement log: one line per compute op, fused or not, in execution order, with the op's
// TensorFlow-style name; constants, views, inputs and outputs print nothing; a summary ends it.

// RUN: gantry run %s --log-device-placement --fill ramp 2>&1 >/dev/null | FileCheck %s --match-full-lines
// RUN: gantry run %s --log-device-placement --fill ramp --no-fuse 2>&1 >/dev/null | FileCheck %s --match-full-lines
// RUN: gantry compile %s -o %t.gantry
// RUN: gantry run %t.gantry --log-device-placement --fill ramp 2>&1 >/dev/null | FileCheck %s --match-full-lines
// RUN: gantry run %s --log-device-placement=json --fill ramp 2>&1 >/dev/null | FileCheck %s --check-prefix=JSON

// CHECK-NOT: {{Executing.*}}
// CHECK: Executing op MatMul in device /job:localhost/replica:0/task:0/device:CPU:0
// CHECK-NEXT: Executing op AddV2 in device /job:localhost/replica:0/task:0/device:CPU:0
// CHECK-NEXT: Executing op Relu in device /job:localhost/replica:0/task:0/device:CPU:0
// CHECK-NEXT: Executing op Softmax in device /job:localhost/replica:0/task:0/device:CPU:0
// CHECK-NEXT: placed 4 ops: CPU:0 4; 0 fall-backs; 0 copies per run, 0 bytes; 0 at load

// JSON: "op":{{ ?}}"MatMul"
// JSON-SAME: "name":{{ ?}}"fc1"
// JSON-SAME: "loc":{{ ?}}"{{.*}}placement-log.mlir:{{[0-9]+}}:8"
// JSON-SAME: "device":{{ ?}}"/job:localhost/replica:0/task:0/device:CPU:0"
// JSON-SAME: "rule":{{ ?}}"default"
// JSON: "op":{{ ?}}"AddV2"
// JSON: "op":{{ ?}}"Relu"
// JSON: "op":{{ ?}}"Softmax"

func.func @p9_log(%x: tensor<2x3xf32>) -> tensor<8xf32> {
  %w = gantry.constant dense<1.0> : tensor<3x4xf32>
  %b = gantry.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = gantry.matmul %x, %w {gantry.name = "fc1"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = gantry.add %0, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = gantry.relu %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = gantry.softmax %2 {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = gantry.reshape %3 : (tensor<2x4xf32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}
