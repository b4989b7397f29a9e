// RUN: gantry-opt %s --split-input-file --gantry-bound-loops --verify-diagnostics

func.func @beyond() -> tensor<i64> {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %five = gantry.constant dense<5> : tensor<i64>
  // expected-error @below {{'gantry.while' op goes round 5 times and has at_most = 4}}
  %0 = gantry.while (%zero) at_most 4 : (tensor<i64>) -> (tensor<i64>) {
  ^bb0(%i: tensor<i64>):
    %c = gantry.compare lt, %i, %five : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %c : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>):
    %1 = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %1 : tensor<i64>
  }
  return %0 : tensor<i64>
}

// -----

func.func @below_zero(%n: tensor<i64>) -> tensor<i64> {
  // expected-error @below {{'gantry.while' op has at_most = -1; a loop has 0 rounds or more}}
  %0 = gantry.while (%n) at_most -1 : (tensor<i64>) -> (tensor<i64>) {
  ^bb0(%i: tensor<i64>):
    %c = gantry.compare lt, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %c : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>):
    gantry.yield %i : tensor<i64>
  }
  return %0 : tensor<i64>
}
