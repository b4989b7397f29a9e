// RUN: gantry-opt %s --split-input-file --verify-diagnostics

// Attributes that the table does not have, with what is near.
func.func @misspelled(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'gantry.relu' op has the attribute 'gantry.devise', which the dialect does not know; did you mean 'gantry.device'?}}
  %y = gantry.relu %x {gantry.devise = "GPU:0"} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'gantry.relu' op has the attribute 'gantry.wide', which the dialect does not know}}
  %y = gantry.relu %x {gantry.wide} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Arguments and results are looked at, too, and so are ops of other dialects.
// expected-error @below {{'func.func' op argument 0 has the attribute 'gantry.nmae', which the dialect does not know; did you mean 'gantry.name'?}}
func.func private @argument(tensor<4xf32> {gantry.nmae = "x"})

// -----

// expected-error @below {{'func.func' op result 1 attribute 'gantry.name' must be a string, got 1 : i64}}
func.func private @result() -> (tensor<4xf32>, tensor<4xf32> {gantry.name = 1 : i64})

// -----

// expected-error @below {{'builtin.module' op has the attribute 'gantry.target_cpu', which the dialect does not know}}
module attributes {gantry.target_cpu = "x"} {}

// -----

// expected-error @below {{'builtin.module' op attribute 'gantry.targets' must be a #gantry.targets<...>, got "cuda"}}
module attributes {gantry.targets = "cuda"} {}

// -----

// expected-error @below {{targets: machines of a target are a list of strings, got "sm_90" for "cuda"}}
module attributes {gantry.targets = #gantry.targets<machines = {cuda = "sm_90"}>} {}

// -----

// expected-error @below {{targets: libraries are strings, got [1]}}
module attributes {gantry.targets = #gantry.targets<libraries = [1]>} {}

// -----

// expected-error @below {{targets: stages are 0 or more, got -1}}
module attributes {gantry.targets = #gantry.targets<stages = -1>} {}
