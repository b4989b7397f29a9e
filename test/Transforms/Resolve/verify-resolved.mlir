// RUN: gantry-opt %s --gantry-verify-resolved -split-input-file -verify-diagnostics

// What Resolve gives.
func.func @resolved(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.relu %x {gantry.device = #gantry.device<"GPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A scope is left.
func.func @scope() {
  // expected-error @below {{'gantry.on' op is left after Resolve}}
  gantry.on "GPU:1" {
  }
  return
}

// -----

// A call is left, in a body.
func.func private @callee()
func.func @call(%c: tensor<i1>) {
  gantry.if %c {
    // expected-error @below {{'func.call' op is left after Resolve}}
    func.call @callee() : () -> ()
  } else {
  } : tensor<i1>
  return
}

// -----

// Control flow has ops of its own.
// expected-error @below {{'@blocks' has several blocks; branches are gantry.if, loops gantry.while}}
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  return %x : tensor<4xf32>
}

// -----

// Nothing to run.
// expected-error @below {{the graph has no public function with a body, so there is nothing to run}}
module {
  func.func private @hidden() {
    return
  }
}
