// Requests from end to end on a machine with one device, and what a user is told.

// RUN: split-file %s %t

// Constants 2x3 and 3x2, multiplied: [[22, 28], [49, 64]].
// RUN: gantry run %t/matmul.mlir 2>/dev/null | FileCheck %s --check-prefix=MATMUL
// RUN: gantry run %t/matmul.mlir --log-device-placement 2>&1 >/dev/null | FileCheck %s --check-prefix=LOG
// MATMUL: output0: f32[2,2] on CPU:0
// MATMUL-NEXT: {{\[}}[22. 28.]
// MATMUL-NEXT: [49. 64.]]
// LOG: Executing op MatMul in device /job:localhost/replica:0/task:0/device:CPU:0

// Scopes, several spellings of the device that is there.
// RUN: gantry run %t/scopes.mlir --fill ramp 2>/dev/null | FileCheck %s --check-prefix=SCOPES
// SCOPES: [-0. -2. -4. -6.]

// A device that is not there: its full name, those that are, and where it was asked for.
// RUN: not gantry run %t/unknown.mlir --fill ramp 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: gantry: error: {{.*}}unknown.mlir:3:10: 'MatMul' is placed on '/job:localhost/replica:0/task:0/device:GPU:2': unknown device; the devices are /job:localhost/replica:0/task:0/device:CPU:0

//--- matmul.mlir
func.func @p9_two_constants() -> tensor<2x2xf32> {
  %a = gantry.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %b = gantry.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %0 = gantry.matmul %a, %b : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

//--- scopes.mlir
func.func @p2_scopes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = gantry.on "/job:localhost" -> (tensor<4xf32>) {
    %0 = gantry.on "cpu" -> (tensor<4xf32>) {
      %1 = gantry.add %x, %x {gantry.device = #gantry.device<"/device:CPU:0">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      gantry.yield %1 : tensor<4xf32>
    }
    gantry.yield %0 : tensor<4xf32>
  }
  %2 = gantry.neg %y : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

//--- unknown.mlir
func.func @p4_unknown(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %y = gantry.on "GPU:2" -> (tensor<2x2xf32>) {
    %0 = gantry.matmul %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    gantry.yield %0 : tensor<2x2xf32>
  }
  return %y : tensor<2x2xf32>
}
