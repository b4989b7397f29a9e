// RUN: gantry-opt %s --gantry-expand-optimizers --verify-diagnostics

gantry.variable @w = dense<0.5> : tensor<4xf32>
gantry.variable @"w/adam/m" = dense<0> : tensor<i64>
func.func @taken(%g: tensor<4xf32>, %rate: tensor<f64>, %t: tensor<i64>) {
  // expected-error @below {{'gantry.optimizer_step' op keeps 'tensor<4xf32>' in '@w/adam/m', which is something else; give its slots another name}}
  gantry.optimizer_step "adam" @w, %g, %rate, %t : tensor<4xf32>, tensor<f64>, tensor<i64>
  return
}
