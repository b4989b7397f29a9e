// Variables (spec P8): one device for the declaration, the ends of functions and the updates.
// RUN: gantry-opt %s --gantry-assign-devices -split-input-file -verify-diagnostics --mlir-print-local-scope | FileCheck %s

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {
  // CHECK: gantry.variable @w {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">}
  gantry.variable @w {gantry.device = #gantry.device<"GPU:1">} = dense<0.0> : tensor<4xf32>
  // CHECK: gantry.variable @free {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">}
  gantry.variable @free = dense<0.0> : tensor<4xf32>
  // CHECK-LABEL: @p8_update
  // CHECK-SAME: device:GPU:1">, gantry.variable = @w}
  // CHECK-SAME: device:GPU:1">, gantry.variable = @w}
  // CHECK: gantry.update_add {{.*}}device:GPU:1">{{.*}}<"inferred", "goes with variable 'w', asked for at
  func.func @p8_update(%x: tensor<4xf32>, %w: tensor<4xf32> {gantry.variable = @w})
      -> (tensor<4xf32> {gantry.variable = @w}) {
    %0 = gantry.update_add %w, %x {gantry.variable = @w} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {
  // A request elsewhere on an update is an error.
  // expected-note @below {{variable 'w' lives on '/job:localhost/replica:0/task:0/device:GPU:1'}}
  // expected-note @below {{variable 'w' has its updates where it is}}
  // expected-error @below {{variable 'w' and what goes with it cannot be placed: 4 things cannot hold together; dropping any one of them resolves it}}
  gantry.variable @w {gantry.device = #gantry.device<"GPU:1">} = dense<0.0> : tensor<4xf32>
  func.func @p8_update_elsewhere(%x: tensor<4xf32>, %w: tensor<4xf32> {gantry.variable = @w})
      -> (tensor<4xf32> {gantry.variable = @w}) {
    // expected-note @below {{'AssignAddVariableOp' is requested on '/job:localhost/replica:0/task:0/device:CPU:0'}}
    // expected-note @below {{'AssignAddVariableOp' belongs to variable 'w'}}
    %0 = gantry.update_add %w, %x {gantry.variable = @w, gantry.device = #gantry.device<"CPU:0">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
