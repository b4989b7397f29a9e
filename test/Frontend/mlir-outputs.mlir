// --outputs ends a function at values of its middle, by the text's names for them.
// RUN: gantry compile %s --entry=main --outputs=%%double,parts#1 --stop-after=import -o - | FileCheck %s
// CHECK:      func.func @main(%[[B:[a-z0-9]+]]: tensor<2x2xf32> {gantry.name = "input1"}) -> (tensor<2x2xf32> {gantry.name = "double"}, tensor<1x2xf32> {gantry.name = "parts#1"})
// CHECK-NEXT:   %[[DOUBLE:.*]] = gantry.add %[[B]], %[[B]]
// CHECK-NEXT:   %[[PARTS:.*]]:2 = gantry.split %[[DOUBLE]]
// CHECK-NEXT:   return %[[DOUBLE]], %[[PARTS]]#1

// An output of its own keeps its device, an op goes by its name as well, an input stays one.
// RUN: gantry compile %s --entry=main --outputs=y,hidden,input0 --devices=CPU:0,GPU:0 --simulate --stop-after=import -o - | FileCheck %s --check-prefix=NAMED
// NAMED: tensor<2x2xf32> {gantry.device = #gantry.device<"GPU:0">, gantry.name = "y"}, tensor<2x2xf32> {gantry.name = "hidden"}, tensor<2x2xf32> {gantry.name = "input0"})

// RUN: gantry check %s --entry=main --outputs=double | FileCheck %s --check-prefix=CHECKED
// CHECKED: output double: f32[2,2]

// RUN: not gantry compile %s --outputs=y 2>&1 | FileCheck %s --check-prefix=ENTRY
// ENTRY: error: --outputs is about one function; choose it with --entry: main, other
// RUN: not gantry compile %s --entry=main --outputs=doubel 2>&1 | FileCheck %s --check-prefix=SLIP
// SLIP: mlir-outputs.mlir:{{[0-9]+}}:1: --outputs: the graph has no value 'doubel'; did you mean 'double'?
// RUN: not gantry compile %s --entry=main --outputs=inside 2>&1 | FileCheck %s --check-prefix=INSIDE
// INSIDE: --outputs: 'inside' is inside the body of an op; name a result of that op
// RUN: not gantry compile %s --entry=main --outputs=y,y 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: --outputs names 'y' twice
// RUN: not gantry compile %s --entry=called --outputs=c 2>&1 | FileCheck %s --check-prefix=CALLED
// CALLED: --outputs: function 'called' is called by others, which need its own outputs

func.func @main(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>)
    -> (tensor<2x2xf32> {gantry.name = "y", gantry.device = #gantry.device<"GPU:0">}) {
  %double = gantry.add %b, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %parts:2 = gantry.split %double {axis = 0 : i64, sizes = array<i64: 1, 1>} : (tensor<2x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>)
  %0 = gantry.mul %a, %double {gantry.name = "hidden"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %scoped = gantry.on "CPU:0" -> (tensor<2x2xf32>) {
    %inside = gantry.exp %0 : (tensor<2x2xf32>) -> tensor<2x2xf32>
    gantry.yield %inside : tensor<2x2xf32>
  }
  %1 = func.call @called(%scoped) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}

func.func private @called(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %c = gantry.relu %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %c : tensor<2x2xf32>
}

func.func @other(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
