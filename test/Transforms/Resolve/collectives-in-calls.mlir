// RUN: gantry-opt %s --split-input-file --gantry-resolve-calls --gantry-check-collectives --verify-diagnostics

// A private function's collective is that of the regions that call it.
func.func private @average(%m: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'gantry.all_reduce' op outside of gantry.replicate needs devices, one for each value}}
  %r = gantry.all_reduce mean %m : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func @fine(%x: tensor<4xf32>) {
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [broadcast] gives [] : (tensor<4xf32>) -> () {
  ^bb0(%a: tensor<4xf32>):
    %0 = func.call @average(%a) : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield
  }
  return
}
func.func @outside(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @average(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// One between devices of its own is none of a region's.
func.func private @exchange(%m: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'gantry.all_reduce' op in a replicated region takes one value and no devices}}
  %r:2 = gantry.all_reduce sum %m, %m on ["GPU:0", "GPU:1"] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %r#0 : tensor<4xf32>
}
func.func @inside(%x: tensor<4xf32>) {
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [broadcast] gives [] : (tensor<4xf32>) -> () {
  ^bb0(%a: tensor<4xf32>):
    %0 = func.call @exchange(%a) : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield
  }
  return
}
