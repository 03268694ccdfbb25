/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * python.c: Debian's CPython as a static program: its library, and a module that the tests of threads need
 * and that Debian builds only as a shared object.
 */
#include <Python.h>

/* The module _contextvars: names for types that the interpreter has. */
static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "_contextvars", .m_size = 0, .m_methods = NULL
};

static PyObject *copy_context(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyContext_CopyCurrent();
}

static PyMethodDef methods[] = { { "copy_context", copy_context, METH_NOARGS, NULL },
                                 { NULL, NULL, 0, NULL } };

static PyObject *contextvars(void)
{
    PyObject *made;

    module.m_methods = methods;
    made = PyModule_Create(&module);
    if (made && PyModule_AddObjectRef(made, "Context", (PyObject *)&PyContext_Type) == 0 &&
        PyModule_AddObjectRef(made, "ContextVar", (PyObject *)&PyContextVar_Type) == 0 &&
        PyModule_AddObjectRef(made, "Token", (PyObject *)&PyContextToken_Type) == 0)
        return made;
    Py_XDECREF(made);
    return NULL;
}

int main(int argc, char **argv)
{
    if (PyImport_AppendInittab("_contextvars", contextvars) != 0)
        return 1;
    return Py_BytesMain(argc, argv);
}
