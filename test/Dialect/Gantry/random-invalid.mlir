// What random numbers refuse. Every text of lib/Dialect/Gantry/IR for them once, in full.

// RUN: gantry-opt %s -split-input-file -verify-diagnostics=only-expected

// They come from somewhere.
func.func @no_key() {
  // expected-error @below {{'gantry.random_uniform' op has neither a seed nor a key; give one of them}}
  %y = gantry.random_uniform {low = 0.0 : f64, high = 1.0 : f64} : () -> tensor<4xf32>
  return
}

// -----

// From one place.
func.func @two_keys(%key: tensor<i64>) {
  // expected-error @below {{'gantry.random_normal' op has a seed and a key; give one of them}}
  %y = gantry.random_normal %key {seed = 7 : i64, mean = 0.0 : f64, deviation = 1.0 : f64} : (tensor<i64>) -> tensor<4xf32>
  return
}

// -----

// One for all elements.
func.func @many_keys(%key: tensor<4xi64>) {
  // expected-error @below {{'gantry.random_uniform' op key must be a scalar tensor<i64>, got 'tensor<4xi64>'}}
  %y = gantry.random_uniform %key {low = 0.0 : f64, high = 1.0 : f64} : (tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

// A stream is a word of the counter.
func.func @stream() {
  // expected-error @below {{'gantry.random_uniform' op stream 4294967296 is outside [0, 4294967296)}}
  %y = gantry.random_uniform {seed = 7 : i64, stream = 4294967296 : i64, low = 0.0 : f64, high = 1.0 : f64} : () -> tensor<4xf32>
  return
}

// -----

func.func @stream() {
  // expected-error @below {{'gantry.random_normal' op stream -1 is outside [0, 4294967296)}}
  %y = gantry.random_normal {seed = 7 : i64, stream = -1 : i64, mean = 0.0 : f64, deviation = 1.0 : f64} : () -> tensor<4xf32>
  return
}

// -----

// A part is drawn at a place in a whole that it fits in.
func.func @half(%key: tensor<i64>) {
  // expected-error @below {{'gantry.random_uniform' op has no begin; a part has both, the shape of the whole and its place in it}}
  %y = gantry.random_uniform %key {whole = array<i64: 8>, low = 0.0 : f64, high = 1.0 : f64} : (tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @other_half(%key: tensor<i64>) {
  // expected-error @below {{'gantry.random_normal' op has no whole; a part has both, the shape of the whole and its place in it}}
  %y = gantry.random_normal %key {begin = array<i64: 8>, mean = 0.0 : f64, deviation = 1.0 : f64} : (tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @outside(%key: tensor<i64>) {
  // expected-error @below {{'gantry.random_uniform' op draws 'tensor<4x2xf32>' at [5, 0], which is not inside of the whole [8, 2]}}
  %y = gantry.random_uniform %key {whole = array<i64: 8, 2>, begin = array<i64: 5, 0>, low = 0.0 : f64, high = 1.0 : f64} : (tensor<i64>) -> tensor<4x2xf32>
  return
}

// -----

func.func @other_rank(%key: tensor<i64>) {
  // expected-error @below {{'gantry.random_uniform' op draws 'tensor<4x2xf32>' at [0], which is not inside of the whole [8, 2]}}
  %y = gantry.random_uniform %key {whole = array<i64: 8, 2>, begin = array<i64: 0>, low = 0.0 : f64, high = 1.0 : f64} : (tensor<i64>) -> tensor<4x2xf32>
  return
}
