// RUN: gantry-opt %s -split-input-file -verify-diagnostics

func.func @one(%a: tensor<4xf32>) {
  // expected-error @below {{'gantry.exchange' op is between two devices at least, got 1}}
  %0 = gantry.exchange all_gather %a on ["/job:w/task:0/CPU:0"] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @message(%a: tensor<4xf32>) {
  // expected-error @below {{'gantry.exchange' op is no message, which is a gantry.copy}}
  %0 = gantry.exchange message %a on ["/job:w/task:{0..1}/CPU:0"] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @same_task(%a: tensor<4xf32>) {
  // expected-error @below {{'gantry.exchange' op has two members in '/job:w/task:0'; each is of a task of its own}}
  %0:2 = gantry.exchange all_gather %a, %a on ["/job:w/task:0/CPU:0", "/job:w/task:0/GPU:0"] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @counts(%a: tensor<4xf32>) {
  // expected-error @below {{'gantry.exchange' op of 2 members takes 1 and gives 1, got 1 and 2}}
  %0:2 = gantry.exchange broadcast %a on ["/job:w/task:{0..1}/CPU:0"] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @types(%a: tensor<2x2xf32>) {
  // expected-error @below {{'gantry.exchange' op moves flat values of 'f32' whose sizes are known, got 'tensor<2x2xf32>'}}
  %0:2 = gantry.exchange all_gather %a, %a on ["/job:w/task:{0..1}/CPU:0"] : (tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @elements(%a: tensor<4xf32>, %b: tensor<4xf64>) {
  // expected-error @below {{'gantry.exchange' op moves flat values of 'f32' whose sizes are known, got 'tensor<4xf64>'}}
  %0:2 = gantry.exchange all_gather %a, %b on ["/job:w/task:{0..1}/CPU:0"] : (tensor<4xf32>, tensor<4xf64>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @gathered_rows(%a: tensor<4xf32>) {
  // expected-error @below {{'gantry.exchange' op has rows; only those of an all_to_all are cut into chunks}}
  %0:2 = gantry.exchange all_gather %a, %a on ["/job:w/task:{0..1}/CPU:0"] rows [1, 1] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @rows(%a: tensor<4xf32>) {
  // expected-error @below {{'gantry.exchange' op needs a number of rows for each member, at least 1}}
  %0:2 = gantry.exchange all_to_all %a, %a on ["/job:w/task:{0..1}/CPU:0"] rows [1, 0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @chunks(%a: tensor<4xf32>, %b: tensor<6xf32>) {
  // expected-error @below {{'gantry.exchange' op member 1 brings 6 elements; its rows of all chunks have 4}}
  %0:2 = gantry.exchange all_to_all %a, %b on ["/job:w/task:{0..1}/CPU:0"] : (tensor<4xf32>, tensor<6xf32>) -> (tensor<6xf32>, tensor<2xf32>)
  return
}

// -----

func.func @gathered(%a: tensor<4xf32>) {
  // expected-error @below {{'gantry.exchange' op member 1 gets 7 elements; expected 8}}
  %0:2 = gantry.exchange all_gather %a, %a on ["/job:w/task:{0..1}/CPU:0"] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<7xf32>)
  return
}

// -----

func.func @sent(%a: tensor<4xf32>) {
  // expected-error @below {{'gantry.exchange' op member 2 gets 3 elements; expected 4}}
  %0:2 = gantry.exchange broadcast %a on ["/job:w/task:{0..2}/CPU:0"] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<3xf32>)
  return
}

// -----

func.func @unknown(%a: tensor<4xf32>) {
  // expected-error @below {{exchange 'gather' is not known; known are message, all_gather, all_to_all, broadcast}}
  %0:2 = gantry.exchange gather %a, %a on ["/job:w/task:{0..1}/CPU:0"] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @no_rows(%x: tensor<0x3xf32>) {
  // expected-error @below {{'gantry.add_rows' op adds up at least one row, got [0,3]}}
  // expected-error @below {{'gantry.add_rows' op failed to infer returned types}}
  %0 = gantry.add_rows %x : (tensor<0x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @number_of_parts(%x: tensor<2x3xf32>) {
  // expected-error @below {{'gantry.add_rows' op has the parts of 3 rows, got 2}}
  %0 = gantry.add_rows %x {parts = array<i64: 1, 1, 1>} : (tensor<2x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @no_parts(%x: tensor<2x3xf32>) {
  // expected-error @below {{'gantry.add_rows' op has a row of 0 parts; expected 1 to 1048576}}
  %0 = gantry.add_rows %x {parts = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @no_subtrees(%x: tensor<2x3xf32>) {
  // expected-error @below {{'gantry.add_rows' op rows are no whole subtrees of the tree over 4 parts}}
  %0 = gantry.add_rows %x {parts = array<i64: 1, 3>} : (tensor<2x3xf32>) -> tensor<3xf32>
  return
}
