// RUN: gantry-opt %s --gantry-resolve-calls -split-input-file -verify-diagnostics

// A function that calls itself.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'func.call' op calls '@main' recursively; shapes and memory are planned before the run, so recursion is not supported: use gantry.while}}
  %0 = func.call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The same through another one.
func.func @a(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @b(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @b(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'func.call' op calls '@a' recursively; shapes and memory are planned before the run, so recursion is not supported: use gantry.while}}
  %0 = func.call @a(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A function that is only declared.
func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'func.call' op calls '@elsewhere', which has no body in this file}}
  %0 = func.call @elsewhere(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Bodies that double with every function.
func.func @main() { func.call @f1() : () -> () return }
// expected-error @below {{'func.call' op brings '@f1' over 500000 ops; calls are replaced by what they call}}
func.func private @f1() { func.call @f2() : () -> () func.call @f2() : () -> () return }
func.func private @f2() { func.call @f3() : () -> () func.call @f3() : () -> () return }
func.func private @f3() { func.call @f4() : () -> () func.call @f4() : () -> () return }
func.func private @f4() { func.call @f5() : () -> () func.call @f5() : () -> () return }
func.func private @f5() { func.call @f6() : () -> () func.call @f6() : () -> () return }
func.func private @f6() { func.call @f7() : () -> () func.call @f7() : () -> () return }
func.func private @f7() { func.call @f8() : () -> () func.call @f8() : () -> () return }
func.func private @f8() { func.call @f9() : () -> () func.call @f9() : () -> () return }
func.func private @f9() { func.call @f10() : () -> () func.call @f10() : () -> () return }
func.func private @f10() { func.call @f11() : () -> () func.call @f11() : () -> () return }
func.func private @f11() { func.call @f12() : () -> () func.call @f12() : () -> () return }
func.func private @f12() { func.call @f13() : () -> () func.call @f13() : () -> () return }
func.func private @f13() { func.call @f14() : () -> () func.call @f14() : () -> () return }
func.func private @f14() { func.call @f15() : () -> () func.call @f15() : () -> () return }
func.func private @f15() { func.call @f16() : () -> () func.call @f16() : () -> () return }
func.func private @f16() { func.call @f17() : () -> () func.call @f17() : () -> () return }
func.func private @f17() { gantry.on "CPU:0" { } gantry.on "CPU:0" { } gantry.on "CPU:0" { } gantry.on "CPU:0" { } return }

// -----

// Regions in the functions of regions: 5 times 50.
func.func @main() { func.call @f1() : () -> () return }
// expected-error @below {{'func.call' op brings the regions in '@f1' over 200 deep; calls are replaced by what they call}}
func.func private @f1() { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { func.call @f2() : () -> () } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } return }
func.func private @f2() { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { func.call @f3() : () -> () } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } return }
func.func private @f3() { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { func.call @f4() : () -> () } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } return }
func.func private @f4() { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { func.call @f5() : () -> () } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } return }
func.func private @f5() { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" { gantry.on "CPU:0" {  } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } } return }
