// RUN: gantry-opt %s --gantry-specialize-shapes="dims=batch=8" -split-input-file -verify-diagnostics=only-expected
// RUN: not gantry-opt %s --gantry-specialize-shapes="dims=batch" 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not gantry-opt %s --gantry-specialize-shapes="dims=batch=-1" 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// FORM: error: --dim 'batch' is not NAME=SIZE
// NEGATIVE: error: --dim 'batch=-1' is not NAME=SIZE

// An open dimension without a size: the message says what to give.
// expected-error @below {{the inputs have open dimensions ('y': 'tensor<?xf32>', 'input2': 'tensor<3x?xf32>'); give their sizes with --dim y:0=N --dim input2:1=N}}
func.func @open(%x: tensor<?xf32> {gantry.dims = ["batch"]}, %y: tensor<?xf32> {gantry.name = "y"}, %z: tensor<3x?xf32>) {
  return
}

// -----

// A size for a dimension that is not there.
// expected-error @below {{--dim batch=8 names no open dimension of the graph}}
module {
  func.func @fixed(%x: tensor<4xf32>) {
    return
  }
}

// -----

// A size that the graph contradicts further down.
func.func @contradiction(%x: tensor<?xf32> {gantry.dims = ["batch"]}, %y: tensor<4xf32>) {
  // expected-error @below {{'gantry.add' op operands cannot be broadcast to each other: [8] and [4]}}
  %0 = gantry.add %x, %y : (tensor<?xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
