// What a kernel must not hold is reported at the op.

// RUN: gantry-opt --gantry-lower-kernels-to-linalg -split-input-file -verify-diagnostics %s

// expected-error @below {{'gantry.kernel' op argument 0 has open dimensions: 'tensor<?xf32>'}}
gantry.kernel @open_argument {
^bb0(%x: tensor<?xf32>):
  gantry.yield %x : tensor<?xf32>
}

// -----

gantry.kernel @open_result {
^bb0(%x: tensor<4xf32>):
  // expected-error @below {{'gantry.relu' op has a result with open dimensions: 'tensor<?xf32>'}}
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<?xf32>
  gantry.yield %0 : tensor<?xf32>
}

// -----

gantry.kernel @copy {
^bb0(%x: tensor<4xf32>):
  // expected-error @below {{'gantry.copy' op cannot stand in a kernel}}
  %0 = gantry.copy %x to "GPU:0" : tensor<4xf32>
  gantry.yield %0 : tensor<4xf32>
}
