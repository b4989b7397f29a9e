// RUN: gantry-opt %s --split-input-file --gantry-resolve-variables --verify-diagnostics

gantry.variable @step = dense<0> : tensor<i64>
func.func @condition(%c: tensor<i1>, %one: tensor<i64>) {
  gantry.while () : () -> () {
    // expected-error @below {{'gantry.assign_add' op assigns '@step' in the condition of a loop; assign it in the body}}
    gantry.assign_add @step, %one : tensor<i64>
    gantry.yield %c : tensor<i1>
  } do {
    gantry.yield
  }
  return
}

// -----

gantry.variable central @w = dense<0.5> : tensor<4xf32>
func.func @central(%x: tensor<4xf32>) {
  gantry.replicate () on ["GPU:0", "GPU:1"] takes [] gives [] : () -> () {
    // expected-error @below {{'gantry.assign' op '@w' is central, and every replica would write it; combine the replicas' values and assign outside of gantry.replicate}}
    gantry.assign @w, %x : tensor<4xf32>
    gantry.yield
  }
  return
}

// -----

gantry.variable @w {gantry.device = #gantry.device<"CPU:0">} = dense<0.5> : tensor<4xf32>
func.func @elsewhere() {
  // expected-error @below {{'gantry.replicate' op mirrors '@w', which asks for 'CPU:0', on other devices; ask for 'GPU:0', for none, or declare the variable central}}
  gantry.replicate () on ["GPU:0", "GPU:1"] takes [] gives [] : () -> () {
    %0 = gantry.read @w : tensor<4xf32>
    gantry.yield
  }
  return
}

// -----

gantry.variable @w = dense<0.5> : tensor<4xf32>
func.func @lists() {
  gantry.replicate () on ["GPU:0", "GPU:1"] takes [] gives [] : () -> () {
    %0 = gantry.read @w : tensor<4xf32>
    gantry.yield
  }
  // expected-error @below {{'gantry.replicate' op mirrors '@w' on other devices than another gantry.replicate does}}
  gantry.replicate () on ["GPU:0", "GPU:2"] takes [] gives [] : () -> () {
    %0 = gantry.read @w : tensor<4xf32>
    gantry.yield
  }
  return
}

// -----

gantry.variable @w = dense<0.5> : tensor<4xf32>
// expected-error @below {{'gantry.variable' op mirrors '@w', which is no variable of 'tensor<2xf32>'}}
gantry.variable @m mirror of @w = dense<0.5> : tensor<2xf32>

// -----

gantry.variable @w = dense<0.5> : tensor<4xf32>
gantry.variable @m mirror of @w = dense<0.5> : tensor<4xf32>
func.func @mirror() -> tensor<4xf32> {
  // expected-error @below {{'gantry.read' op uses '@m', which mirrors '@w'; use that one}}
  %0 = gantry.read @m : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{'gantry.variable' op gets mirrors, and the name of one, '@w/replica_1', is taken; rename what has it}}
gantry.variable @w = dense<0.5> : tensor<4xf32>
gantry.variable @"w/replica_1" = dense<0.5> : tensor<4xf32>
func.func @taken() {
  gantry.replicate () on ["GPU:0", "GPU:1"] takes [] gives [] : () -> () {
    %0 = gantry.read @w : tensor<4xf32>
    gantry.yield
  }
  return
}

// -----

gantry.variable @w = dense<0.5> : tensor<4xf32>
func.func @nested() {
  gantry.replicate () on ["GPU:0", "GPU:1"] takes [] gives [] : () -> () {
    // expected-error @below {{'gantry.replicate' op is inside of another gantry.replicate; list all devices on one}}
    gantry.replicate () on ["GPU:2", "GPU:3"] takes [] gives [] : () -> () {
      gantry.yield
    }
    gantry.yield
  }
  return
}

// -----

// Also where no variable is.
func.func @nested_alone(%x: tensor<4xf32>) {
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [broadcast] gives [] : (tensor<4xf32>) -> () {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @below {{'gantry.replicate' op is inside of another gantry.replicate; list all devices on one}}
    gantry.replicate (%a) on ["GPU:2"] takes [broadcast] gives [] : (tensor<4xf32>) -> () {
    ^bb0(%b: tensor<4xf32>):
      gantry.yield
    }
    gantry.yield
  }
  return
}

// -----

gantry.variable @w = dense<0.5> : tensor<4xf32>

func.func @custom_gradient(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.custom_gradient (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @below {{'gantry.assign' op assigns '@w' inside of gantry.custom_gradient; give the value as a result of it, and assign that}}
    gantry.assign @w, %a : tensor<4xf32>
    gantry.yield %a : tensor<4xf32>
  } backward {
  ^bb0(%a: tensor<4xf32>, %y: tensor<4xf32>, %d: tensor<4xf32>):
    gantry.yield %d : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
