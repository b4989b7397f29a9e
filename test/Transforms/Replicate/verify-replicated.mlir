// RUN: gantry-opt %s --split-input-file --gantry-verify-replicated --verify-diagnostics

func.func @fine(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.relu %a : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @collective(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'gantry.all_reduce' op is left after Replicate}}
  %0 = gantry.all_reduce sum %a on ["GPU:0"] : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @region() {
  // expected-error @below {{'gantry.replicate' op is left after Replicate}}
  gantry.replicate () on ["GPU:0"] takes [] gives [] : () -> () {
    gantry.yield
  }
  return
}
