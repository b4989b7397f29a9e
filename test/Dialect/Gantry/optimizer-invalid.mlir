// RUN: gantry-opt %s --split-input-file --verify-diagnostics

gantry.variable @w = dense<0.5> : tensor<4xf32>
func.func @rule(%g: tensor<4xf32>, %rate: tensor<f64>, %t: tensor<i64>) {
  // expected-error @below {{'gantry.optimizer_step' op has the rule 'adams'; the rules are sgd, sgd_inside, adam, nadam, adamax, rmsprop, rmsprop_inside, adagrad, adadelta, lion, lamb, lars, ftrl}}
  gantry.optimizer_step "adams" @w, %g, %rate, %t : tensor<4xf32>, tensor<f64>, tensor<i64>
  return
}

// -----

gantry.variable @w = dense<0.5> : tensor<4xf32>
func.func @number(%g: tensor<4xf32>, %rate: tensor<f64>, %t: tensor<i64>) {
  // expected-error @below {{'gantry.optimizer_step' op says 'beta3', but the numbers of lion are l2, decay, beta1, beta2}}
  gantry.optimizer_step "lion" @w, %g, %rate, %t {numbers = {beta3 = 0.5}} : tensor<4xf32>, tensor<f64>, tensor<i64>
  return
}

// -----

gantry.variable @w = dense<0.5> : tensor<4xf32>
func.func @integer(%g: tensor<4xf32>, %rate: tensor<f64>, %t: tensor<i64>) {
  // expected-error @below {{'gantry.optimizer_step' op number 'beta1' is 1 : i64, expected a float}}
  gantry.optimizer_step "adam" @w, %g, %rate, %t {numbers = {beta1 = 1}} : tensor<4xf32>, tensor<f64>, tensor<i64>
  return
}

// -----

gantry.variable @w = dense<0.5> : tensor<4xf32>
func.func @row(%g: tensor<4xf32>, %rate: tensor<1xf64>, %t: tensor<i64>) {
  // expected-error @below {{'gantry.optimizer_step' op takes the rate and the step as scalars, got 'tensor<1xf64>' and 'tensor<i64>'}}
  gantry.optimizer_step "adam" @w, %g, %rate, %t : tensor<4xf32>, tensor<1xf64>, tensor<i64>
  return
}

// -----

gantry.variable @w = dense<0.5> : tensor<4xf32>
func.func @shape(%g: tensor<2xf32>, %rate: tensor<f64>, %t: tensor<i64>) {
  // expected-error @below {{'gantry.optimizer_step' op '@w' is 'tensor<4xf32>', used as 'tensor<2xf32>'}}
  gantry.optimizer_step "adam" @w, %g, %rate, %t : tensor<2xf32>, tensor<f64>, tensor<i64>
  return
}

// -----

gantry.variable @w = dense<0.5> : tensor<4xf32>
func.func @slots(%g: tensor<4xf32>, %rate: tensor<f64>, %t: tensor<i64>) {
  // expected-error @below {{'gantry.optimizer_step' op has no name for its slots: slots is empty}}
  gantry.optimizer_step "adam" @w, %g, %rate, %t {slots = ""} : tensor<4xf32>, tensor<f64>, tensor<i64>
  return
}
