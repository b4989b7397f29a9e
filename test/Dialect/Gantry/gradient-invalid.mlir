// RUN: gantry-opt %s --split-input-file --verify-diagnostics

func.func @no_loss(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'gantry.gradient' op differentiates the first value of its region, 'tensor<4xf32>'; a loss is a scalar of floats: yield one first, or give seeds}}
  %0:2 = gantry.gradient (%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    gantry.yield %a : tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// -----

func.func @integer_loss(%x: tensor<f32>, %n: tensor<i64>) -> tensor<f32> {
  // expected-error @below {{'gantry.gradient' op differentiates the first value of its region, 'tensor<i64>'; a loss is a scalar of floats: yield one first, or give seeds}}
  %0:2 = gantry.gradient (%x) : (tensor<f32>) -> (tensor<i64>, tensor<f32>) {
  ^bb0(%a: tensor<f32>):
    gantry.yield %n : tensor<i64>
  }
  return %0#1 : tensor<f32>
}

// -----

func.func @nothing(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'gantry.gradient' op differentiates nothing, since its region yields nothing; a loss is a scalar of floats: yield one first, or give seeds}}
  %0 = gantry.gradient (%x) : (tensor<f32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<f32>):
    gantry.yield
  }
  return %0 : tensor<f32>
}

// -----

func.func @integer_operand(%x: tensor<f32>, %n: tensor<4xi64>) -> tensor<f32> {
  // expected-error @below {{'gantry.gradient' op differentiates with respect to operand 1, which is 'tensor<4xi64>'; only floats have gradients}}
  %0:3 = gantry.gradient (%x, %n) : (tensor<f32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>, tensor<4xi64>) {
  ^bb0(%a: tensor<f32>, %b: tensor<4xi64>):
    gantry.yield %a : tensor<f32>
  }
  return %0#1 : tensor<f32>
}

// -----

func.func @many_seeds(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'gantry.gradient' op has 2 seeds, but 1 operands, and 1 values of its region}}
  %0:2 = gantry.gradient (%x) seeds 2 : (tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<f32>):
    gantry.yield %a : tensor<f32>
  }
  return %0#1 : tensor<f32>
}

// -----

func.func @other_seed(%x: tensor<4xf32>, %d: tensor<5xf32>) -> tensor<4xf32> {
  // expected-error @below {{'gantry.gradient' op has the seed 'tensor<5xf32>' for value 0 of its region, which is 'tensor<4xf32>'; a seed has the type of its value, which is of floats}}
  %0:2 = gantry.gradient (%x, %d) seeds 1 : (tensor<4xf32>, tensor<5xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    gantry.yield %a : tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// -----

func.func @region(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'gantry.gradient' op region must take ('tensor<f32>'), takes ('tensor<f64>')}}
  %0:2 = gantry.gradient (%x) : (tensor<f32>) -> (tensor<f64>, tensor<f32>) {
  ^bb0(%a: tensor<f64>):
    gantry.yield %a : tensor<f64>
  }
  return %0#1 : tensor<f32>
}

// -----

func.func @results(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'gantry.gradient' op gives ('tensor<f32>'); the results are what the region yields, then a gradient for each operand: ('tensor<f32>', 'tensor<f32>')}}
  %0 = gantry.gradient (%x) : (tensor<f32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<f32>):
    gantry.yield %a : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

func.func @takes(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'gantry.checkpoint' op region takes values; it reads them from outside}}
  %0 = gantry.checkpoint -> (tensor<f32>) {
  ^bb0(%a: tensor<f32>):
    gantry.yield %x : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

func.func @gives(%x: tensor<f32>) -> tensor<f64> {
  // expected-error @below {{'gantry.checkpoint' op region must yield ('tensor<f64>'), yields ('tensor<f32>')}}
  %0 = gantry.checkpoint -> (tensor<f64>) {
    gantry.yield %x : tensor<f32>
  }
  return %0 : tensor<f64>
}

// -----

func.func @backward_takes(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'gantry.custom_gradient' op backward region must take the operands, the results and a cotangent for each result of floats: ('tensor<f32>', 'tensor<f32>', 'tensor<f32>'), takes ('tensor<f32>')}}
  %0 = gantry.custom_gradient (%x) : (tensor<f32>) -> tensor<f32> {
  ^bb0(%a: tensor<f32>):
    gantry.yield %a : tensor<f32>
  } backward {
  ^bb0(%d: tensor<f32>):
    gantry.yield %d : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// Of integers there are no gradients to yield.
func.func @backward_yields(%x: tensor<f32>, %n: tensor<i64>) -> tensor<f32> {
  // expected-error @below {{'gantry.custom_gradient' op backward region must yield ('tensor<f32>'), yields ('tensor<f32>', 'tensor<i64>')}}
  %0 = gantry.custom_gradient (%x, %n) : (tensor<f32>, tensor<i64>) -> tensor<f32> {
  ^bb0(%a: tensor<f32>, %b: tensor<i64>):
    gantry.yield %a : tensor<f32>
  } backward {
  ^bb0(%a: tensor<f32>, %b: tensor<i64>, %y: tensor<f32>, %d: tensor<f32>):
    gantry.yield %d, %b : tensor<f32>, tensor<i64>
  }
  return %0 : tensor<f32>
}

// -----

func.func @filter_places(%x: tensor<1x3x8xf32>, %d: tensor<1x4x8xf32>) {
  // expected-error @below {{'gantry.conv_filter_grad' op cotangent [1,4,8] has 8 places along spatial dimension 0, where the convolution has 6}}
  // expected-error @below {{'gantry.conv_filter_grad' op failed to infer returned types}}
  %w = gantry.conv_filter_grad %x, %d {window = array<i64: 3>, strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x3x8xf32>, tensor<1x4x8xf32>) -> tensor<4x3x3xf32>
  return
}

// -----

func.func @filter_images(%x: tensor<2x3x8xf32>, %d: tensor<1x4x8xf32>) {
  // expected-error @below {{'gantry.conv_filter_grad' op input [2,3,8], cotangent [1,4,8] and 1 groups do not agree on images or channels}}
  // expected-error @below {{'gantry.conv_filter_grad' op failed to infer returned types}}
  %w = gantry.conv_filter_grad %x, %d {window = array<i64: 1>, strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<2x3x8xf32>, tensor<1x4x8xf32>) -> tensor<4x3x1xf32>
  return
}

// -----

func.func @places(%x: tensor<1x1x4xf32>, %i: tensor<1x1x2xi32>) {
  // expected-error @below {{'gantry.pool_pick' op places of the window [2] are 'ui8', got 'i32'}}
  // expected-error @below {{'gantry.pool_pick' op failed to infer returned types}}
  %v = gantry.pool_pick %x, %i {window = array<i64: 2>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<1x1x2xi32>) -> tensor<1x1x2xf32>
  return
}

// -----

func.func @too_many_places(%x: tensor<1x1x4xf32>, %i: tensor<1x1x3xui8>) {
  // expected-error @below {{'gantry.pool_pick' op places [1,1,3] are not of windows over [1,1,4]}}
  // expected-error @below {{'gantry.pool_pick' op failed to infer returned types}}
  %v = gantry.pool_pick %x, %i {window = array<i64: 2>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<1x1x3xui8>) -> tensor<1x1x3xf32>
  return
}

// -----

func.func @ranks(%x: tensor<1x1x4xf32>, %i: tensor<1x1x2x1xui8>) {
  // expected-error @below {{'gantry.pool_pick' op input [1,1,4] and places [1,1,2,1] need the same number of dimensions}}
  // expected-error @below {{'gantry.pool_pick' op failed to infer returned types}}
  %v = gantry.pool_pick %x, %i {window = array<i64: 2>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<1x1x2x1xui8>) -> tensor<1x1x2x1xf32>
  return
}

// -----

func.func @sizes(%v: tensor<1x1x2xf32>, %i: tensor<1x1x2xui8>) {
  // expected-error @below {{'gantry.pool_spread' op sizes [-4] are below 0}}
  // expected-error @below {{'gantry.pool_spread' op failed to infer returned types}}
  %x = gantry.pool_spread %v, %i {window = array<i64: 2>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, sizes = array<i64: -4>} : (tensor<1x1x2xf32>, tensor<1x1x2xui8>) -> tensor<1x1x4xf32>
  return
}

// -----

func.func @spread_shapes(%v: tensor<1x1x3xf32>, %i: tensor<1x1x2xui8>) {
  // expected-error @below {{'gantry.pool_spread' op values [1,1,3], places [1,1,2] and sizes [4] do not agree}}
  // expected-error @below {{'gantry.pool_spread' op failed to infer returned types}}
  %x = gantry.pool_spread %v, %i {window = array<i64: 2>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, sizes = array<i64: 4>} : (tensor<1x1x3xf32>, tensor<1x1x2xui8>) -> tensor<1x1x4xf32>
  return
}
